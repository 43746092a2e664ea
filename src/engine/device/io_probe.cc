#include "engine/device/io_probe.h"

#include "engine/device/disk_io.h"

namespace hone {

Probe probe_io_uring() {
  OrderedJson json;
  const std::string why_not = why_no_uring();
  json["io_uring"] = why_not.empty();
  if (why_not.empty())
    return {"io_uring", "offloads to disk with many requests at a time", "", std::move(json)};
  return {"io_uring", fmt::format("{}: threads offload to disk", why_not), "", std::move(json)};
}

}  // namespace hone
