// Rows of the formats that are read through Arrow (arrow_module.h).
#pragma once

#include "learn/data/formats/arrow_module.h"
#include "learn/data/formats/rows.h"

namespace hone {

// Errors: H2111 with Arrow's reason, H2112 when this build has no Arrow, H2108
// for text that is not UTF-8, H2118 beyond the source's limits.
Result<std::unique_ptr<RowReader>> open_arrow_rows(HoneArrowFormat format,
                                                   std::unique_ptr<Source> source);

}  // namespace hone
