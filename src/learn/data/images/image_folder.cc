#include "learn/data/images/image_folder.h"

#include <algorithm>
#include <functional>
#include <map>

#include "base/core/text.h"
#include "base/store/places/in_parallel.h"
#include "base/store/store.h"
#include "learn/data/images/errors.h"

namespace hone {
namespace {

constexpr int64_t kFoldersAtATime = 64;

Error bad_folder(const std::string& folder, const std::string& why) {
  return Error(err::kImageFolder, fmt::format("'{}' {}", folder, why));
}

Status add_class(const std::string& folder, const std::vector<Store::Entry>& entries, int32_t label,
                 ImageRows& to) {
  const int32_t number = to.add_folder(folder);
  const int64_t before = to.size();
  for (const Store::Entry& e : entries) {
    if (e.name.starts_with('.')) continue;
    if (e.folder)
      return bad_folder(folder, fmt::format("holds a folder, '{}'", e.name))
          .todo("put the images of a class into its folder itself");
    if (is_image_name(e.name)) to.add_file(number, e.name, e.bytes, label);
  }
  if (to.size() == before)
    return bad_folder(folder, "holds no image, but its name is that of a class")
        .todo("remove the folder, or put .jpg, .jpeg, .png or .webp files into it");
  return Ok{};
}

Result<std::vector<Store::Entry>> entries_of(const std::string& folder, ImageListing* listing) {
  return listing ? listing->list(folder) : file_store().list(folder);
}

// Adds the images of folders in `folder`, in this order, with the labels. Folders of a store are listed many at a time.
Status add_folders(const std::string& folder, const std::vector<std::string>& names,
                   const std::function<int32_t(const std::string&)>& label_of, ImageRows& to,
                   ImageListing* listing = nullptr) {
  const auto count = std::ssize(names);
  for (int64_t first = 0; first < count; first += kFoldersAtATime) {
    const int64_t part = std::min(kFoldersAtATime, count - first);
    std::vector<std::vector<Store::Entry>> entries(static_cast<size_t>(part));
    const auto path = [&](int64_t i) {
      return folder + "/" + names[static_cast<size_t>(first + i)];
    };
    HONE_TRY(in_parallel(part, threads_to_list(folder), [&](int64_t i) -> Status {
      entries[static_cast<size_t>(i)] = HONE_TRY(entries_of(path(i), listing));
      return Ok{};
    }));
    for (int64_t i = 0; i < part; ++i)
      HONE_TRY(add_class(path(i), entries[static_cast<size_t>(i)],
                         label_of(names[static_cast<size_t>(first + i)]), to));
  }
  return Ok{};
}

}  // namespace

int threads_to_list(std::string_view path) {
  constexpr int kRequests = 16;  // each of which waits for the store
  return path.find("://") == path.npos ? 1 : kRequests;
}

bool is_image_name(std::string_view name) {
  const size_t dot = name.find_last_of('.');
  if (dot == std::string_view::npos) return false;
  const std::string ending = to_lower(std::string(name.substr(dot + 1)));
  return ending == "jpg" || ending == "jpeg" || ending == "png" || ending == "webp";
}

Result<LabelledImages> list_classes(const std::string& given, const std::vector<std::string>& names,
                                    ImageListing* listing) {
  const std::string folder = without_end_slash(given);
  LabelledImages out;
  std::vector<std::string> found;
  for (const Store::Entry& e : HONE_TRY(entries_of(folder, listing)))
    if (e.folder && !e.name.starts_with('.')) found.push_back(e.name);
  std::sort(found.begin(), found.end());
  if (found.empty())
    return bad_folder(folder, "holds no folder of a class")
        .todo("put the images of each class into a folder with its name");
  out.names = names.empty() ? found : names;
  std::map<std::string, int32_t, std::less<>> ids;
  for (size_t i = 0; i < out.names.size(); ++i) ids[out.names[i]] = static_cast<int32_t>(i);
  std::sort(found.begin(), found.end(), [&](const std::string& a, const std::string& b) {
    const auto x = ids.find(a), y = ids.find(b);
    return x != ids.end() && y != ids.end() ? x->second < y->second : a < b;
  });
  for (const std::string& name : found) {
    const auto id = ids.find(name);
    if (id == ids.end())
      return bad_folder(folder, fmt::format("has a class '{}' that is not among the {} classes",
                                            name, names.size()))
          .todo("the folders of all splits have the names of the same classes");
  }
  HONE_TRY(add_folders(
      folder, found, [&](const std::string& name) { return ids.find(name)->second; }, out.rows,
      listing));
  return out;
}

Result<ImageRows> list_images(const std::string& given) {
  const std::string folder = without_end_slash(given);
  ImageRows rows;
  const int32_t number = rows.add_folder(folder);
  std::vector<std::string> folders;
  for (const Store::Entry& e : HONE_TRY(file_store().list(folder))) {
    if (e.name.starts_with('.')) continue;
    if (e.folder)
      folders.push_back(e.name);
    else if (is_image_name(e.name))
      rows.add_file(number, e.name, e.bytes, ImageRows::kNoLabel);
  }
  HONE_TRY(add_folders(
      folder, folders, [](const std::string&) { return ImageRows::kNoLabel; }, rows));
  if (rows.size() == 0)
    return bad_folder(folder, "holds no image")
        .todo("images are .jpg, .jpeg, .png and .webp files");
  return rows;
}

Result<std::string> split_folder(const std::string& given, const std::string& split) {
  const std::string folder = without_end_slash(given);
  const std::vector<std::string> names =
      split == "validation" ? std::vector<std::string>{"validation", "val", "validate"}
                            : std::vector<std::string>{split};
  for (const std::string& name : names) {
    const std::string path = folder + "/" + name;
    if (HONE_TRY(file_store().info(path)).folder) return path;
  }
  return std::string();
}

}  // namespace hone
