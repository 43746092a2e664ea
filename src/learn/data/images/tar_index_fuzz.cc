// Any bytes as a tar archive: an Error, or entries inside the archive.
#include <cstring>

#include "learn/data/images/tar_index.h"

using namespace hone;

namespace {

class Bytes final : public Reader {
 public:
  explicit Bytes(std::string_view bytes) : bytes_(bytes) {}
  int64_t bytes() const override { return std::ssize(bytes_); }
  Status read(int64_t offset, std::span<std::byte> out) override {
    HONE_BUG_IF(offset < 0 || offset > bytes() || std::ssize(out) > bytes() - offset,
                "a read outside the file");
    std::memcpy(out.data(), bytes_.data() + offset, out.size());
    return Ok{};
  }

 private:
  std::string_view bytes_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Bytes file({reinterpret_cast<const char*>(data), size});
  const auto entries = list_tar(file, "fuzz.tar");
  if (!entries.ok()) {
    HONE_BUG_IF(entries.error().text().empty(), "an error without text");
    return 0;
  }
  for (const TarEntry& e : *entries)
    HONE_BUG_IF(e.offset < 0 || e.bytes < 0 || e.bytes > file.bytes() - e.offset,
                "an entry outside the archive");
  return 0;
}
