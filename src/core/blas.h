#pragma once

/* Before the first product: products for what the processor can do, level 0 to 3 of plain, v2, v3, v4. */
void ep_blas_choose(int level);
