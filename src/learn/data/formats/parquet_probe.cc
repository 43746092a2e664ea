#include "learn/data/formats/parquet_probe.h"

#include "learn/data/formats/errors.h"
#include "learn/data/formats/rows.h"

namespace hone {

// Parquet is readable when its module loads: a file of no bytes then fails for another reason.
Probe probe_parquet() {
  OrderedJson json;
  const Result<Format> format = find_format("x.parquet", {});
  std::string reason, remedy;
  if (!format.ok()) {
    reason = format.error().what();
  } else if (auto opened = format->open(memory_source("x.parquet", ""), {});
             !opened.ok() && opened.error().is(err::kArrowMissing)) {
    reason = opened.error().what();
    remedy = opened.error().remedy();
  }
  json["parquet"] = {{"readable", reason.empty()}, {"reason", reason}};
  return {"parquet", reason.empty() ? "readable (Arrow C++)" : reason, remedy, std::move(json)};
}

}  // namespace hone
