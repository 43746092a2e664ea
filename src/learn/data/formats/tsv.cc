// .tsv: tab separated, header required; quotes count only where they balance (separated.h).
#include "learn/data/formats/separated.h"

namespace hone {

Format format_tsv() {
  return {"tsv",
          {"tsv", "tab"},
          "tab separated, with a header",
          [](std::unique_ptr<Source> source, const RowOptions& options) {
            return open_separated(std::move(source), '\t', Quoting::kWhenBalanced, options);
          },
          true};
}

}  // namespace hone
