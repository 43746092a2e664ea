#include "learn/data/formats/megatron_index.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "base/store/store.h"
#include "learn/data/formats/errors.h"

namespace hone {
namespace {

constexpr std::string_view kMagic("MMIDIDX\0\0", 9);
constexpr uint64_t kMegatronVersion = 1;

}  // namespace

int64_t bytes_of(MegatronType type) {
  switch (type) {
    case MegatronType::kUint8:
    case MegatronType::kInt8:
      return 1;
    case MegatronType::kInt16:
    case MegatronType::kUint16:
      return 2;
    case MegatronType::kInt32:
      return 4;
    case MegatronType::kInt64:
      return 8;
  }
  return 0;
}

std::string name_of(MegatronType type) {
  const bool is_unsigned = type == MegatronType::kUint8 || type == MegatronType::kUint16;
  return fmt::format("{}{}", is_unsigned ? "uint" : "int", 8 * bytes_of(type));
}

MegatronType type_for(int64_t vocabulary) {
  return vocabulary < 65500 ? MegatronType::kUint16 : MegatronType::kInt32;
}

Error bad_megatron(const std::string& name, std::string why) {
  return Error(err::kMegatronRead, fmt::format("'{}' cannot be read: {}", name, std::move(why)))
      .todo("copy the .idx and the .bin again, both from the same place");
}

std::string megatron_header(const MegatronIndex& index) {
  std::string out(kMagic);
  const auto put = [&](uint64_t value, size_t bytes) {
    out.append(reinterpret_cast<const char*>(&value), bytes);
  };
  put(kMegatronVersion, 8);
  put(static_cast<uint8_t>(index.type), 1);
  put(static_cast<uint64_t>(index.sequences), 8);
  put(static_cast<uint64_t>(index.documents), 8);
  return out;
}

Result<MegatronIndex> parse_megatron_header(std::string_view header, int64_t file_bytes,
                                            const std::string& name) {
  if (!header.starts_with(kMagic))
    return bad_megatron(name, "it does not begin as the index of a Megatron-LM data set");
  if (static_cast<int64_t>(header.size()) < kMegatronHeaderBytes)
    return bad_megatron(name, fmt::format("it has {} bytes", header.size()));
  const auto get = [&](size_t at) {
    uint64_t value = 0;
    std::memcpy(&value, header.data() + at, 8);
    return value;
  };
  if (get(9) != kMegatronVersion)
    return bad_megatron(name, fmt::format("it has version {}, not 1", get(9)));
  MegatronIndex index;
  const auto code = static_cast<uint8_t>(header[17]);
  index.type = static_cast<MegatronType>(code);
  if (bytes_of(index.type) == 0)
    return bad_megatron(
        name, fmt::format("its type {} is not one of token ids{}", code,
                          code == 6 || code == 7 ? ", but of numbers with a fraction" : ""));
  const uint64_t sequences = get(18), documents = get(26);
  const auto most = static_cast<uint64_t>(file_bytes);
  const auto cut = [&] {
    return bad_megatron(
        name, fmt::format("it has {} bytes, too few for {} sequences and {} documents", file_bytes,
                          sequences, documents));
  };
  if (sequences > most / 12 || documents > most / 8) return cut();
  index.sequences = static_cast<int64_t>(sequences);
  index.documents = static_cast<int64_t>(documents);
  if (index.bytes() > file_bytes) return cut();
  const int64_t after = file_bytes - index.bytes();
  if (after != 0 && after != index.sequences)
    return bad_megatron(name, fmt::format("{} bytes follow its {} sequences", after, sequences));
  if (documents == 0) return bad_megatron(name, "it has no bounds of documents");
  return index;
}

std::vector<std::string> files_with_ids(const std::vector<std::string>& named) {
  std::vector<std::string> all;
  const auto add = [&](const std::string& file) {
    if (std::find(all.begin(), all.end(), file) == all.end()) all.push_back(file);
  };
  for (const std::string& name : named) {
    const bool may_be_two = name.ends_with(".idx") || name.ends_with(".bin");
    const std::string stem = may_be_two ? name.substr(0, name.size() - 4) : "";
    if (may_be_two && path_exists(stem + ".idx") && path_exists(stem + ".bin")) {
      add(stem + ".idx");
      add(stem + ".bin");
    } else {
      add(name);
    }
  }
  return all;
}

}  // namespace hone
