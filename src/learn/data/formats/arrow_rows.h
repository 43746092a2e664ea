// Reads rows of parquet and Arrow files through Arrow (arrow_module.h).
#pragma once

#include "learn/data/formats/arrow_module.h"
#include "learn/data/formats/rows.h"

namespace hone {

// Opens a file. Errors of this function and of the reader: H2111 the file cannot be read, with Arrow's reason; H2112
// this build has no Arrow; H2108 text that is not UTF-8; H2118 the file needs more memory than source->limits() allows,
// or the limits' stops() returned true; H0117 the file changed while it was read.
Result<std::unique_ptr<RowReader>> open_arrow_rows(HoneArrowFormat format,
                                                   std::unique_ptr<Source> source);

}  // namespace hone
