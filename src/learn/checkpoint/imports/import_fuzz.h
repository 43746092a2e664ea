// Helpers of the fuzzers of this folder.
#pragma once

#include <cstring>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "learn/checkpoint/imports/imports.h"

namespace hone {

// Divides a fuzzer's input into two files. The first four bytes are the size of the first file, which follows them; the
// remaining bytes are the second file. If fewer bytes follow than this size, all of them are the first file, and the
// second file is empty. nullopt: the input has fewer than four bytes.
inline std::optional<std::pair<std::string_view, std::string_view>> two_files(const uint8_t* data,
                                                                              size_t size) {
  uint32_t first = 0;
  if (size < sizeof first) return {};
  std::memcpy(&first, data, sizeof first);
  const std::string_view all(reinterpret_cast<const char*>(data) + sizeof first,
                             size - sizeof first);
  const std::string_view one = all.substr(0, first);
  return std::pair(one, all.substr(one.size()));
}

// If `run` is an Error, checks that it has a text. Else reads every tensor of at most 65,536 elements; a read may fail.
inline void read_all(const Result<ImportedRun>& run) {
  if (!run.ok()) {
    HONE_BUG_IF(run.error().text().empty(), "an error without text");
    return;
  }
  for (const WeightSource* source : {run->weights.get(), run->optimizer.get()}) {
    if (source == nullptr) continue;
    for (const TensorInfo& t : source->tensors()) {
      if (t.type.count() > 1 << 16) continue;
      std::vector<std::byte> out(static_cast<size_t>(t.type.bytes()));
      (void)source->read(t.name, t.type.dtype, out);
    }
  }
}

}  // namespace hone
