#include "learn/checkpoint/safetensors/safetensors.h"

#include <algorithm>
#include <cstring>

#include "learn/checkpoint/safetensors/convert.h"
#include "learn/checkpoint/safetensors/errors.h"
#include "learn/checkpoint/safetensors/shards.h"
#include "learn/checkpoint/safetensors/strict_json.h"

namespace hone {
using nlohmann::json;
namespace {

constexpr int64_t kMaxHeader = 100'000'000;  // the reference library's limit

struct Format {
  std::string_view name;
  Stored stored;
  int64_t bits;
};
constexpr Format kFormats[] = {{"F64", Stored::f64, 64},
                               {"F32", Stored::f32, 32},
                               {"BF16", Stored::bf16, 16},
                               {"F16", Stored::f16, 16},
                               {"I64", Stored::i64, 64},
                               {"I32", Stored::i32, 32},
                               {"I8", Stored::i8, 8},
                               {"U8", Stored::u8, 8},
                               {"BOOL", Stored::boolean, 8},
                               {"I16", Stored::i16, 16},
                               {"U16", Stored::u16, 16},
                               {"U32", Stored::u32, 32},
                               {"U64", Stored::u64, 64},
                               {"F8_E4M3", Stored::opaque, 8},
                               {"F8_E5M2", Stored::opaque, 8},
                               {"F8_E8M0", Stored::opaque, 8},
                               {"F8_E4M3FNUZ", Stored::opaque, 8},
                               {"F8_E5M2FNUZ", Stored::opaque, 8},
                               {"C64", Stored::opaque, 64},
                               {"F4", Stored::opaque, 4},
                               {"F6_E2M3", Stored::opaque, 6},
                               {"F6_E3M2", Stored::opaque, 6}};

const Format* format_named(std::string_view name) {
  for (const Format& f : kFormats)
    if (f.name == name) return &f;
  return nullptr;
}

Error damaged(const ByteFile& file, std::string what) {
  return Error(err::kSafetensorsDamaged, fmt::format("'{}': {}", file.path(), std::move(what)))
      .todo("download or save the file again; it does not match its header");
}

// A whole number from 0 to 2^62.
bool count_of(const json& j, int64_t& out) {
  if (!j.is_number_integer()) return false;
  if (j.is_number_unsigned() && j.get<uint64_t>() > (uint64_t{1} << 62)) return false;
  out = j.get<int64_t>();
  return out >= 0;
}

Result<TensorInfo> tensor_of(const ByteFile& file, const std::string& name, const json& entry) {
  const auto wrong = [&](std::string what) {
    return damaged(file, fmt::format("tensor '{}': {}", name, what));
  };
  if (!entry.is_object()) return wrong("its entry is not an object");
  for (const char* key : {"dtype", "shape", "data_offsets"})
    if (!entry.contains(key)) return wrong(fmt::format("its entry has no '{}'", key));
  if (!entry["dtype"].is_string()) return wrong("its dtype is not a string");
  const std::string dtype = entry["dtype"].get<std::string>();
  const Format* format = format_named(dtype);
  if (format == nullptr) return wrong(fmt::format("its dtype '{}' is unknown", dtype));
  TensorInfo t;
  t.name = name;
  t.file = file.path();
  t.type.dtype = dtype_of(format->stored);
  if (!is_dtype(format->stored)) t.scheme = dtype;
  const json& shape = entry["shape"];
  if (!shape.is_array() || shape.size() > 32)
    return wrong("its shape is not a list of at most 32 sizes");
  int64_t count = 1;
  for (const json& d : shape) {
    int64_t size = 0;
    if (!count_of(d, size)) return wrong("its shape holds something that is not a size");
    if (__builtin_mul_overflow(count, size, &count))
      return wrong("its shape has more elements than 63 bits count");
    t.type.shape.push_back(size);
  }
  const json& range = entry["data_offsets"];
  int64_t end = 0;
  if (!range.is_array() || range.size() != 2 || !count_of(range[0], t.offset) ||
      !count_of(range[1], end))
    return wrong("its data_offsets are not two byte positions");
  int64_t bits = 0;
  if (__builtin_mul_overflow(count, format->bits, &bits) || bits % 8 != 0)
    return wrong(fmt::format("{}{} is not a whole number of bytes", dtype, text_of(t.type.shape)));
  if (end < t.offset || end - t.offset != bits / 8)
    return wrong(fmt::format("{}{} takes {} bytes, its data_offsets [{}, {}] do not span them",
                             dtype, text_of(t.type.shape), bits / 8, t.offset, end));
  t.bytes = bits / 8;
  return t;
}

Status check_layout(const ByteFile& file, std::vector<TensorInfo>& tensors, int64_t data_start) {
  std::stable_sort(tensors.begin(), tensors.end(), [](const TensorInfo& a, const TensorInfo& b) {
    return std::pair(a.offset, a.offset + a.bytes) < std::pair(b.offset, b.offset + b.bytes);
  });
  const int64_t data_size = file.size() - data_start;
  int64_t at = 0;
  for (TensorInfo& t : tensors) {
    if (t.offset > at)
      return damaged(file, fmt::format("there is a hole of {} bytes before tensor '{}'",
                                       t.offset - at, t.name));
    if (t.offset < at)
      return damaged(file, fmt::format("tensor '{}' overlaps the tensor before it", t.name));
    at = t.offset + t.bytes;
    if (at > data_size)
      return damaged(
          file,
          fmt::format("tensor '{}' ends at byte {}, but the file has only {}: it is cut short",
                      t.name, data_start + at, file.size()));
    t.offset += data_start;
  }
  if (at < data_size)
    return damaged(file, fmt::format("{} bytes follow the last tensor", data_size - at));
  return Ok{};
}

class SafetensorsSource final : public WeightSource {
 public:
  Status open(std::unique_ptr<ByteFile> file) {
    SafetensorsHeader header = HONE_TRY(read_safetensors_header(*file));
    for (TensorInfo& t : header.tensors) add(std::move(t));
    metadata_ = std::move(header.metadata);
    file_ = std::move(file);
    return Ok{};
  }

 protected:
  Status read_tensor(size_t index, DType as, std::span<std::byte> out) const override {
    return read_elements(*file_, tensors_[index], stored(index), as, out);
  }
  Status read_elements_of(size_t index, DType as, int64_t first,
                          std::span<std::byte> out) const override {
    TensorInfo part = tensors_[index];
    part.type.shape = {static_cast<int64_t>(out.size()) / size_of(as)};
    part.offset += first * size_of(stored(index));
    part.bytes = part.type.count() * size_of(stored(index));
    return read_elements(*file_, part, stored(index), as, out);
  }

 private:
  Stored stored(size_t index) const {
    const TensorInfo& t = tensors_[index];
    return t.scheme.empty() ? stored_of(t.type.dtype) : format_named(t.scheme)->stored;
  }

  std::unique_ptr<ByteFile> file_;
};

}  // namespace

Result<SafetensorsHeader> read_safetensors_header(const ByteFile& file) {
  if (file.size() < 8)
    return damaged(file, fmt::format("{} bytes are too few for a header", file.size()));
  uint64_t length = 0;
  HONE_TRY(file.read_at(0, std::as_writable_bytes(std::span(&length, 1))));
  if (length > static_cast<uint64_t>(kMaxHeader))
    return damaged(file,
                   fmt::format("its header claims {} bytes; {} is the limit", length, kMaxHeader));
  if (static_cast<int64_t>(length) > file.size() - 8)
    return damaged(
        file,
        fmt::format(
            "its header claims {} bytes, the file has {}: it is cut short or no safetensors file",
            length, file.size()));
  std::string text(length, '\0');
  HONE_TRY(file.read_at(8, std::as_writable_bytes(std::span(text.data(), text.size()))));
  if (text.empty() || text.front() != '{')
    return damaged(file, "its header does not begin with '{'");
  auto parsed = parse_strict_json(text, err::kSafetensorsDamaged, file.path(), 4);
  if (!parsed.ok()) return std::move(parsed.error()).todo("download or save the file again");

  SafetensorsHeader header;
  for (const auto& [name, entry] : parsed->items()) {
    if (name != "__metadata__") {
      header.tensors.push_back(HONE_TRY(tensor_of(file, name, entry)));
      continue;
    }
    if (!entry.is_object()) return damaged(file, "its __metadata__ is not an object");
    for (const auto& [key, value] : entry.items()) {
      if (!value.is_string())
        return damaged(file, fmt::format("its __metadata__ '{}' is not a string", key));
      header.metadata[key] = value.get<std::string>();
    }
  }
  HONE_TRY(check_layout(file, header.tensors, 8 + static_cast<int64_t>(length)));
  return header;
}

Result<std::unique_ptr<WeightSource>> open_safetensors(const std::string& path, Store& store) {
  auto source = std::make_unique<SafetensorsSource>();
  HONE_TRY(source->open(HONE_TRY(open_byte_file(path, store))));
  return std::unique_ptr<WeightSource>(std::move(source));
}

Result<std::unique_ptr<WeightSource>> open_safetensors_index(const std::string& path,
                                                             Store& store) {
  return open_shard_index(path, open_safetensors, store);
}

}  // namespace hone
