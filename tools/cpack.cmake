# What the two packages do not share: the archive unpacks anywhere, under one folder.
if(CPACK_GENERATOR STREQUAL TGZ)
  set(CPACK_PACKAGING_INSTALL_PREFIX "")
endif()
