#include "learn/data/images/image_listing.h"

#include <algorithm>

#include "base/core/json.h"
#include "base/core/text.h"
#include "learn/data/images/errors.h"

namespace hone {
namespace {

constexpr const char* kListingFormat = "hone listing 1";

Error bad_listing(const std::string& file, size_t line) {
  return Error(err::kImageFolder, "the file is not a listing of folders")
      .at(fmt::format("{}:{}", file, line))
      .todo("remove it, and the next run writes it again");
}

bool read_entries(const nlohmann::json& line, std::vector<Store::Entry>& to) {
  if (!line.is_object() || !line.contains("folders") || !line.contains("files")) return false;
  if (!line["folders"].is_array() || !line["files"].is_array()) return false;
  for (const auto& name : line["folders"]) {
    if (!name.is_string()) return false;
    to.push_back({name.get<std::string>(), true, 0});
  }
  for (const auto& file : line["files"]) {
    const bool fits =
        file.is_array() && file.size() == 2 && file[0].is_string() && file[1].is_number_integer();
    if (!fits) return false;
    to.push_back({file[0].get<std::string>(), false, file[1].get<int64_t>()});
  }
  return true;
}

// JSON holds UTF-8 alone.
bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const int length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(static_cast<size_t>(length));
  }
  return true;
}

}  // namespace

Result<ImageListing> ImageListing::open(const std::string& file) {
  ImageListing listing(file);
  if (!file.empty() && HONE_TRY(file_store().info(file)).exists) HONE_TRY(listing.read());
  return listing;
}

Status ImageListing::read() {
  const std::string text = HONE_TRY(file_store().read(file_));
  size_t number = 0;
  for (const std::string& line : split(text, '\n')) {
    ++number;
    if (line.empty()) continue;
    const Result<nlohmann::json> read = parse_json(line, file_);
    if (!read.ok() || !read->is_object()) return bad_listing(file_, number);
    if (number == 1) {
      if (read->value("format", nlohmann::json()) != kListingFormat) return bad_listing(file_, 1);
      continue;
    }
    const auto folder = read->find("folder");
    if (folder == read->end() || !folder->is_string()) return bad_listing(file_, number);
    if (!read_entries(*read, folders_[folder->get<std::string>()]))
      return bad_listing(file_, number);
  }
  if (number == 0 || folders_.empty()) return bad_listing(file_, 1);
  kept_ = std::ssize(folders_);
  return Ok{};
}

Result<std::vector<Store::Entry>> ImageListing::list(const std::string& folder) {
  if (file_.empty()) return file_store().list(folder);
  {
    const std::lock_guard lock(*mutex_);
    if (const auto at = folders_.find(folder); at != folders_.end()) return at->second;
  }
  std::vector<Store::Entry> entries = HONE_TRY(file_store().list(folder));
  const std::lock_guard lock(*mutex_);
  changed_ = true;
  return folders_[folder] = std::move(entries);
}

Status ImageListing::save() const {
  if (!changed_) return Ok{};
  std::string text = fmt::format("{{\"format\": \"{}\"}}\n", kListingFormat);
  for (const auto& [folder, entries] : folders_) {
    const bool has_names =
        is_utf8(folder) &&
        std::all_of(entries.begin(), entries.end(), [](const auto& e) { return is_utf8(e.name); });
    if (!has_names) continue;
    OrderedJson line{
        {"folder", folder}, {"folders", OrderedJson::array()}, {"files", OrderedJson::array()}};
    for (const Store::Entry& e : entries) {
      if (e.folder)
        line["folders"].push_back(e.name);
      else
        line["files"].push_back({e.name, e.bytes});
    }
    text += line.dump() + "\n";
  }
  return file_store().write(file_, text);
}

}  // namespace hone
