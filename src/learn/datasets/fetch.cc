#include "learn/datasets/fetch.h"

#include <algorithm>

#include "base/core/text.h"
#include "base/store/web_cache.h"
#include "learn/datasets/errors.h"
#include "learn/datasets/patterns.h"

namespace hone {
namespace {

constexpr std::string_view kHub = "hf://datasets/";

bool is_web(const std::string& text) {
  return text.starts_with("http://") || text.starts_with("https://");
}

// org/name[@revision]/path: the revision's '/' is written %2F, but for refs/convert/... and
// refs/pr/..., as in huggingface_hub.
struct HubAddress {
  std::string name, path;
};
HubAddress parse(const std::string& text) {
  std::vector<std::string> parts = split(std::string_view(text).substr(kHub.size()), '/');
  HubAddress a;
  if (parts.size() < 3) return a;
  size_t path = 2;
  std::string second = parts[1];
  if (second.ends_with("@refs") && parts.size() > 4) {
    second += "/" + parts[2] + "/" + parts[3];
    path = 4;
  }
  for (size_t at; (at = second.find("%2F")) != std::string::npos;) second.replace(at, 3, "/");
  a.name = std::string(kHub) + parts[0] + "/" + second;
  for (size_t i = path; i < parts.size(); ++i) a.path += (i > path ? "/" : "") + parts[i];
  return a;
}

Status fetch_hub(const std::string& text, const HubOptions& options,
                 std::vector<std::string>& paths) {
  const HubAddress address = parse(text);
  HubOptions of_main = options;
  of_main.revision = "main";  // but for one in the address; --dataset_revision belongs to its name
  HubRepository repo = HONE_TRY(HubRepository::open(HubKind::kDataset, address.name, of_main));
  HONE_TRY(repo.remember());
  std::vector<std::string> found = repo.has(address.path)
                                       ? std::vector<std::string>{address.path}
                                       : HONE_TRY(matching_files(address.path, repo.files()));
  if (found.empty()) {
    const std::string near = nearest_name(address.path, repo.files());
    return Error(err::kDatasetPattern,
                 fmt::format("'{}' has no file '{}'", repo.hub_id(), address.path))
        .at(text)
        .todo(near.empty() ? "its page lists its files" : fmt::format("did you mean '{}'?", near));
  }
  for (const std::string& file : found) paths.push_back(HONE_TRY(repo.file(file)));
  return Ok{};
}

}  // namespace

bool is_data_address(const std::string& text) {
  return is_web(text) || (text.starts_with(kHub) && !parse(text).path.empty());
}

Result<std::vector<std::string>> fetch_data_files(std::span<const std::string> names,
                                                  const HubOptions& options) {
  std::vector<std::string> paths;
  for (const std::string& name : names) {
    if (is_web(name)) {
      paths.push_back(HONE_TRY(cached_url(name, options)));
    } else if (is_data_address(name)) {
      HONE_TRY(fetch_hub(name, options, paths));
    } else if (name.starts_with("hf://")) {
      return Error(err::kDatasetPattern, fmt::format("'{}' is not the URL of a file", name))
          .todo(
              "write hf://datasets/org/name/path/to/file.csv, or name the whole data set by "
              "`dataset_name`");
    } else {
      paths.push_back(name);
    }
  }
  return paths;
}

}  // namespace hone
