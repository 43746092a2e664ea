#include "learn/images/exif.h"

#include <cstdint>

namespace hone {
namespace {

constexpr uint32_t kOrientationTag = 0x0112;
constexpr uint32_t kShort = 3, kLong = 4;
constexpr size_t kEntryBytes = 12;

class Tiff {
 public:
  explicit Tiff(std::string_view bytes) : bytes_(bytes), big_(bytes.starts_with("MM")) {}
  // 0 beyond the end.
  uint32_t number(size_t at, size_t count) const {
    if (at > bytes_.size() || bytes_.size() - at < count) return 0;
    uint32_t value = 0;
    for (size_t i = 0; i < count; ++i)
      value = value << 8 | static_cast<uint8_t>(bytes_[at + (big_ ? i : count - 1 - i)]);
    return value;
  }

 private:
  std::string_view bytes_;
  bool big_;
};

int checked(uint32_t orientation) {
  return orientation >= 1 && orientation <= 8 ? static_cast<int>(orientation) : 1;
}

}  // namespace

int exif_orientation(std::string_view tiff) {
  if (!tiff.starts_with("II") && !tiff.starts_with("MM")) return 1;
  const Tiff t(tiff);
  const size_t directory = t.number(4, 4);
  const uint32_t entries = t.number(directory, 2);
  for (uint32_t i = 0; i < entries; ++i) {
    const size_t entry = directory + 2 + i * kEntryBytes;
    if (entry + kEntryBytes > tiff.size()) break;
    if (t.number(entry, 2) != kOrientationTag) continue;
    const uint32_t type = t.number(entry + 2, 2);
    if (type != kShort && type != kLong) break;
    return checked(t.number(entry + 8, type == kShort ? 2 : 4));
  }
  return 1;
}

int xmp_orientation(std::string_view xml) {
  constexpr std::string_view kName = "tiff:Orientation";
  const size_t name = xml.find(kName);
  if (name == std::string_view::npos) return 1;
  size_t at = name + kName.size();
  if (xml.substr(at).starts_with("=\""))
    at += 2;
  else if (xml.substr(at).starts_with(">"))
    at += 1;
  else
    return 1;
  return at < xml.size() ? checked(static_cast<uint32_t>(xml[at] - '0')) : 1;
}

}  // namespace hone
