#include "operate/web/data_images.h"

#include <filesystem>

#include "base/store/store.h"
#include "learn/data/images/image_folder.h"
#include "learn/images/decode.h"
#include "operate/web/errors.h"
#include "operate/web/image_folders.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMostImageBytes = 16 << 20;

Error not_shown(const std::string& what) {
  return Error(err::kWebView, what).todo("name a JPEG, PNG or WebP file of at most 16 MiB");
}

}  // namespace

Result<OrderedJson> image_folder_rows(const DataPlaces& places, const std::string& folder,
                                      int64_t from, int64_t count) {
  const bool labelled = holds_classes(folder);
  LabelledImages read;
  if (labelled)
    read = HONE_TRY(list_classes(folder));
  else
    read.rows = HONE_TRY(list_images(folder));
  OrderedJson rows = OrderedJson::array();
  const int64_t end = std::min(read.rows.size(), from + count);
  for (int64_t i = from; i < end; ++i) {
    const std::string name = places.name_of(read.rows.name(i));
    OrderedJson cells = {{"image", {{"path", name}, {"picture", name}}}};
    if (labelled) cells["label"] = read.names[static_cast<size_t>(read.rows.label(i))];
    rows.push_back({{"row", i + 1}, {"cells", std::move(cells)}});
  }
  return OrderedJson{
      {"columns", labelled ? OrderedJson{"image", "label"} : OrderedJson{"image"}},
      {"more", end < read.rows.size()},
      {"notes",
       {fmt::format("{} images{}", read.rows.size(),
                    labelled ? fmt::format(" of {} classes", read.names.size()) : "")}},
      {"rows", std::move(rows)}};
}

std::optional<std::string> image_named_by(const DataPlaces& places, const std::string& file,
                                          const std::string& text) {
  if (!is_image_name(text)) return {};
  for (const std::string& path : {(fs::path(file).parent_path() / text).string(), text})
    if (const auto real = places.find(path); real && is_regular(*real))
      return places.name_of(*real);
  return {};
}

Result<WebAnswer> image_answer(std::string bytes) {
  const Result<ImageInfo> info = read_image_info(bytes);
  if (!info.ok()) return not_shown(fmt::format("{}: {}", info.error().code(), info.error().what()));
  const char* type = info->coding == ImageCoding::jpeg  ? "image/jpeg"
                     : info->coding == ImageCoding::png ? "image/png"
                                                        : "image/webp";
  return WebAnswer{200, std::move(bytes), type};
}

Result<WebAnswer> image_file_answer(const DataPlaces& places, const std::string& path) {
  const auto real = places.find(path);
  if (!real || !is_regular(*real))
    return Error(err::kNotBelow, fmt::format("there is no image '{}' below the folder", path))
        .todo("name a path below --folder, or below one of --data_folders");
  if (!is_image_name(*real) || HONE_TRY(file_store().bytes(*real)) > kMostImageBytes)
    return not_shown(fmt::format("'{}' is not an image of at most 16 MiB", path));
  return image_answer(HONE_TRY(file_store().read(*real)));
}

}  // namespace hone
