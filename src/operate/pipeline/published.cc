#include "operate/pipeline/published.h"

#include <filesystem>

#include "base/core/text.h"
#include "base/core/url.h"

namespace hone {
namespace {

constexpr const char *kFolder = "HONE_PUBLISHED_FOLDER", *kUrl = "HONE_PUBLISHED_URL";
constexpr std::string_view kRunning = ".part";

std::string absolute_path(const std::string& path) {
  std::error_code failed;
  return without_end_slash(std::filesystem::absolute(path, failed).lexically_normal().string());
}

}  // namespace

std::map<std::string, std::string> published_environment(const std::string& folder,
                                                         const std::string& root) {
  return {{kFolder, absolute_path(folder)}, {kUrl, without_end_slash(root)}};
}

std::string published_place(const std::string& path) {
  const std::string folder = environment(kFolder), url = environment(kUrl);
  if (folder.empty() || url.empty() || path.find('/') == std::string::npos || is_url(path))
    return path;
  const std::string whole = absolute_path(path);
  if (!whole.starts_with(folder + "/")) return path;
  std::vector<std::string> parts = split(whole.substr(folder.size() + 1), '/');  // run, step, files
  if (parts.size() > 1 && parts[1].ends_with(kRunning))
    parts[1].resize(parts[1].size() - kRunning.size());
  return url + "/" + join(parts, "/");
}

OrderedJson published_places(OrderedJson value) {
  if (value.is_structured())
    for (OrderedJson& member : value) member = published_places(std::move(member));
  else if (value.is_string())
    value = published_place(value.get<std::string>());
  return value;
}

}  // namespace hone
