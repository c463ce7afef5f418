#pragma once
#include <eigenpair/probe.h>
