// Any bytes as hone_shards.json: an error, or a manifest that is written and read back the same.
#include <cstdint>

#include "learn/data/shards/shards.h"

using namespace hone;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto manifest = parse_shard_manifest(text, "x");
  if (!manifest.ok()) return 0;
  const std::string written = manifest->to_json();
  const auto again = parse_shard_manifest(written, "x");
  if (!again.ok() || again->to_json() != written) __builtin_trap();
  (void)check_same_settings(manifest->settings, again->settings, "x");
  return 0;
}
