#include "operate/serve/served_image.h"

#include "base/unicode/base64.h"
#include "learn/pretrained/image_processor.h"
#include "operate/serve/protocol/errors.h"

namespace hone {
namespace {

constexpr int64_t kLargePixels = int64_t{4} << 20;

bool begins_as_image(std::string_view bytes) {
  return bytes.starts_with("\xff\xd8\xff") || bytes.starts_with("\x89PNG") ||
         bytes.starts_with("RIFF");
}

// The code is a part of the text, since most APIs have no other place for it.
Error for_clients(const Error& e) {
  return Error(e.error_code(), fmt::format("{}: {}", e.code(), e.what()))
      .todo("send a whole JPEG, PNG or WebP file of usual size");
}

}  // namespace

Result<std::string> image_bytes_of(std::string text) {
  if (begins_as_image(text)) return text;
  std::string_view coded = text;
  if (coded.starts_with("data:")) {
    const size_t comma = coded.find(";base64,");
    coded.remove_prefix(comma == coded.npos ? 0 : comma + 8);
  }
  std::string bytes;
  if (decode_base64(coded, bytes)) return bytes;
  return Error(err::kServeRequest, "the image is not base64")
      .todo("send the bytes of a JPEG, PNG or WebP file as base64");
}

Result<std::unique_ptr<ServedImages>> ServedImages::make(const Pretrained& model) {
  const Json& trained = model.trained.settings;
  auto made = std::make_unique<ServedImages>();
  made->processor_ = HONE_TRY(image_processor_of(model));
  const std::string filter = model.trained.text("interpolation");
  const auto margin = trained.find("crop_pct");
  made->transform_ = evaluation_transform(
      made->processor_, margin != trained.end() && margin->is_number() ? margin->get<double>() : 1,
      filter_of(filter.empty() ? "bilinear" : filter));
  const auto upright = trained.find("apply_exif_orientation");
  made->limits_ = {.most_pixels = kMostPixels,
                   .apply_orientation = upright == trained.end() || *upright != Json(false)};
  return made;
}

Result<Image> ServedImages::decode(const std::string& bytes) {
  const Result<ImageInfo> info = read_image_info(bytes, limits_);
  if (!info.ok()) return for_clients(info.error());
  std::unique_lock<std::mutex> one;
  if (info->width() * info->height() > kLargePixels) one = std::unique_lock(large_);
  Image image;
  TransformMemory memory;
  const Status made = evaluation_pixels(bytes, transform_, limits_, image, memory);
  if (!made.ok()) return for_clients(made.error());
  return image;
}

}  // namespace hone
