// PNG by libpng. Its errors are jumps, so the functions that call it hold no objects with destructors.
#include <png.h>

#include <cstring>
#include <vector>

#include "learn/images/codings.h"
#include "learn/images/encode.h"
#include "learn/images/exif.h"

namespace hone {
namespace {

constexpr png_alloc_size_t kMostChunkBytes = 8 << 20;
constexpr png_uint_32 kMostSide = 1 << 24;

struct PngBytes {
  std::string_view bytes;
  size_t at = 0;
  bool truncated = false;
  char why[256] = "";
};

void on_read(png_structp png, png_bytep to, size_t count) {
  auto& b = *static_cast<PngBytes*>(png_get_io_ptr(png));
  if (count > b.bytes.size() - b.at) {
    b.truncated = true;
    png_error(png, "the file ends");
  }
  std::memcpy(to, b.bytes.data() + b.at, count);
  b.at += count;
}
[[noreturn]] void on_png_error(png_structp png, png_const_charp why) {
  auto& b = *static_cast<PngBytes*>(png_get_error_ptr(png));
  std::snprintf(b.why, sizeof b.why, "%s", why);
  png_longjmp(png, 1);
}
void on_png_warning(png_structp, png_const_charp) {}

// libpng's objects for reading.
struct Png {
  png_structp png = nullptr;
  png_infop info = nullptr;
  explicit Png(PngBytes& bytes)
      : png(png_create_read_struct(PNG_LIBPNG_VER_STRING, &bytes, on_png_error, on_png_warning)) {
    if (png) info = png_create_info_struct(png);
  }
  ~Png() { png_destroy_read_struct(&png, &info, nullptr); }
  Png(const Png&) = delete;
};

void open_png(const Png& p, PngBytes& bytes) {
  png_set_read_fn(p.png, &bytes, on_read);
  png_set_user_limits(p.png, kMostSide, kMostSide);
  png_set_chunk_malloc_max(p.png, kMostChunkBytes);
  png_set_keep_unknown_chunks(p.png, PNG_HANDLE_CHUNK_NEVER, nullptr, 0);
  png_read_info(p.png, p.info);
}

bool read_png_header(const Png& p, PngBytes& bytes, ImageInfo& info) {
  if (setjmp(png_jmpbuf(p.png)) != 0) return false;
  open_png(p, bytes);
  info.stored_width = png_get_image_width(p.png, p.info);
  info.stored_height = png_get_image_height(p.png, p.info);
#ifdef PNG_eXIf_SUPPORTED
  png_uint_32 size = 0;
  png_bytep exif = nullptr;
  if (png_get_eXIf_1(p.png, p.info, &size, &exif) != 0 && exif)
    info.orientation = exif_orientation({reinterpret_cast<const char*>(exif), size});
#endif
  return true;
}

bool read_png_rows(const Png& p, PngBytes& bytes, Image& to, png_bytep* rows, uint16_t* wide) {
  if (setjmp(png_jmpbuf(p.png)) != 0) return false;
  open_png(p, bytes);
  const bool grey16 = wide != nullptr;
  if (grey16) {
    png_set_swap(p.png);
  } else {
    png_set_strip_16(p.png);
    png_set_expand(p.png);
    png_set_strip_alpha(p.png);
    png_set_gray_to_rgb(p.png);
    png_set_filler(p.png, 0xff, PNG_FILLER_AFTER);
  }
  png_set_interlace_handling(p.png);
  png_read_update_info(p.png, p.info);
  for (int64_t y = 0; y < to.height; ++y)
    rows[y] = grey16 ? reinterpret_cast<png_bytep>(wide + y * to.width) : to.row(y);
  png_read_image(p.png, rows);
  png_read_end(p.png, nullptr);
  return true;
}

Error png_error_of(const PngBytes& b) {
  return b.truncated ? truncated_image("PNG") : damaged_image(b.why);
}

}  // namespace

Result<ImageInfo> read_png_info(std::string_view bytes) {
  ImageInfo info;
  info.coding = ImageCoding::png;
  PngBytes from{bytes};
  const Png p(from);
  if (!p.info || !read_png_header(p, from, info)) return png_error_of(from);
  return info;
}

Status decode_png(std::string_view bytes, Image& to) {
  PngBytes from{bytes};
  const Png p(from);
  std::vector<png_bytep> rows(static_cast<size_t>(to.height));
  // A grey of 16 bits without alpha keeps its value up to 255, as Pillow's mode I;16 does.
  constexpr size_t kDepthAt = 24, kTypeAt = 25;  // in the header
  const bool grey16 =
      bytes.size() > kTypeAt && bytes[kDepthAt] == 16 && bytes[kTypeAt] == PNG_COLOR_TYPE_GRAY;
  std::vector<uint16_t> wide(grey16 ? static_cast<size_t>(to.width * to.height) : 0);
  if (!p.info || !read_png_rows(p, from, to, rows.data(), grey16 ? wide.data() : nullptr))
    return png_error_of(from);
  for (size_t i = 0; i < wide.size(); ++i) {
    const uint16_t value = wide[i] > 255 ? 255 : wide[i];
    std::memset(to.pixels.data() + i * 4, value, 4);
  }
  return Ok{};
}

std::string encode_png(const Image& from) {
  std::vector<uint8_t> rgb;
  for (size_t i = 0; i < from.pixels.size(); i += 4)
    rgb.insert(rgb.end(), from.pixels.begin() + static_cast<std::ptrdiff_t>(i),
               from.pixels.begin() + static_cast<std::ptrdiff_t>(i + 3));
  png_image form{};
  form.version = PNG_IMAGE_VERSION;
  form.width = static_cast<png_uint_32>(from.width);
  form.height = static_cast<png_uint_32>(from.height);
  form.format = PNG_FORMAT_RGB;
  png_alloc_size_t size = 0;
  int done = png_image_write_to_memory(&form, nullptr, &size, 0, rgb.data(), 0, nullptr);
  std::string bytes(size, 0);
  if (done != 0)
    done = png_image_write_to_memory(&form, bytes.data(), &size, 0, rgb.data(), 0, nullptr);
  HONE_BUG_IF(done == 0, "libpng: {}", form.message);
  bytes.resize(size);
  return bytes;
}

}  // namespace hone
