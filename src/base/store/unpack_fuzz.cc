// Any bytes as each kind of compressed file: errors, never a crash, and the same text in other
// pieces.
#include <algorithm>
#include <cstdint>

#include "base/store/unpack.h"

using namespace hone;

namespace {

constexpr size_t kMost = 1 << 20;  // of a bomb

std::string unpack(Packing packing, std::string_view packed, size_t in, int64_t out, bool& ok) {
  Unpacker unpacker(packing, "f", [&](char* to, int64_t size) -> Result<int64_t> {
    const size_t n = packed.copy(to, std::min(static_cast<size_t>(size), in));
    packed.remove_prefix(n);
    return static_cast<int64_t>(n);
  });
  std::string text, buffer(static_cast<size_t>(out), '\0');
  while (text.size() < kMost) {
    Result<int64_t> n = unpacker.read(buffer.data(), out);
    ok = n.ok();
    if (!ok || *n == 0) break;
    text.append(buffer, 0, static_cast<size_t>(*n));
  }
  text.resize(std::min(text.size(), kMost));
  return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view packed(reinterpret_cast<const char*>(data), size);
  for (const Packing packing :
       {Packing::kGzip, Packing::kZstd, Packing::kBzip2, Packing::kXz, Packing::kZip}) {
    bool ok = true, again = true;
    const std::string text = unpack(packing, packed, 1 << 16, 1 << 16, ok);
    const std::string pieces = unpack(packing, packed, 5, 1000, again);
    // Both end near kMost, not at the same byte: what is there is seen by one of them alone.
    const bool bomb = std::max(text.size(), pieces.size()) > kMost - (1 << 16);
    if (!bomb && (ok != again || (ok && text != pieces))) __builtin_trap();
  }
  return 0;
}
