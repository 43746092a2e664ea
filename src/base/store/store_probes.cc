#include "base/store/store_probes.h"

#include <unistd.h>

#include <filesystem>

#include "base/core/text.h"
#include "base/store/hub_repository.h"

namespace hone {

namespace fs = std::filesystem;

// Free space and the right to write. If a folder is not made yet, those of the folder above it.
Probe probe_disk() {
  OrderedJson json;
  OrderedJson all = OrderedJson::object();
  std::vector<std::string> texts, remedies;
  auto look = [&](const char* key, const std::string& what, const std::string& path,
                  const std::string& remedy) {
    std::error_code failed;
    fs::path at = fs::absolute(path, failed);
    while (!fs::exists(at, failed) && at.has_relative_path()) at = at.parent_path();
    const auto space = fs::space(at, failed);
    const int64_t free = failed ? -1 : static_cast<int64_t>(space.available);
    const bool writable = ::access(at.c_str(), W_OK) == 0;
    all[key] = {{"path", path}, {"free_bytes", free}, {"writable", writable}};
    texts.push_back(fmt::format("{} free in {}{}", free < 0 ? "unknown" : format_bytes(free), what,
                                writable ? "" : ", which may not be written"));
    if (!writable || (free >= 0 && free < (int64_t{1} << 30))) remedies.push_back(remedy);
  };
  look("current_folder", "the current folder", ".",
       "change to a folder that may be written and has some GiB free, or give --output_dir there");
  look("cache", "the hub's cache", hub_cache_folder(),
       "export HF_HOME=/a/folder/with/space   (models and data sets are kept there)");
  json["disk_free_bytes"] = all["current_folder"]["free_bytes"];
  json["disk"] = std::move(all);
  return {"disk", join(texts, "; "), join(remedies, "; "), std::move(json)};
}

Probe probe_hub() {
  OrderedJson json;
  const bool offline = hub_offline(), token = !hub_token().empty();
  const std::string cache = hub_cache_folder();
  json["hub"] = {
      {"endpoint", hub_endpoint()}, {"cache", cache}, {"offline", offline}, {"token", token}};
  return {"hub",
          fmt::format("{}, {}, cache {}", offline ? "offline" : hub_endpoint(),
                      token ? "a token is set" : "no token (HF_TOKEN)", cache),
          "", std::move(json)};
}

}  // namespace hone
