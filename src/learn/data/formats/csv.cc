// .csv: comma separated, quoted by RFC 4180, header required; cells are text.
#include "learn/data/formats/separated.h"

namespace hone {

Format format_csv() {
  return {"csv",
          {"csv"},
          "comma separated, with a header",
          [](std::unique_ptr<Source> source, const RowOptions& options) {
            return open_separated(std::move(source), ',', Quoting::kRfc4180, options);
          },
          true};
}

}  // namespace hone
