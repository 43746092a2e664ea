#include "learn/checkpoint/gguf/gguf_writer.h"

#include <algorithm>

#include "learn/checkpoint/gguf/gguf_types.h"
#include "learn/checkpoint/safetensors/hashed_file.h"

namespace hone {
namespace {

constexpr int64_t kAlignment = 32, kChunkBlocks = 1 << 16;

class Bytes {
 public:
  template <class T>
  void put(T x) {
    text_.append(reinterpret_cast<const char*>(&x), sizeof x);
  }
  void put_text(std::string_view s) {
    put(static_cast<uint64_t>(s.size()));
    text_.append(s);
  }
  void pad() {
    while (static_cast<int64_t>(text_.size()) % kAlignment != 0) text_.push_back('\0');
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

void put_element(Bytes& b, bool x) { b.put(static_cast<uint8_t>(x)); }
void put_element(Bytes& b, int64_t x) { b.put(static_cast<int32_t>(x)); }
void put_element(Bytes& b, double x) { b.put(static_cast<float>(x)); }
void put_element(Bytes& b, const std::string& x) { b.put_text(x); }

template <class T>
uint32_t type_of() {
  if constexpr (std::is_same_v<T, bool>) return kBool;
  if constexpr (std::is_same_v<T, int64_t>) return kI32;
  if constexpr (std::is_same_v<T, double>) return kF32;
  return kString;
}

template <class T>
void put_list(Bytes& b, const std::vector<T>& list) {
  b.put<uint32_t>(kArray);
  b.put(type_of<T>());
  b.put(static_cast<uint64_t>(list.size()));
  for (const auto& x : list) put_element(b, static_cast<const T&>(x));
}

void put_bytes(Bytes& b, const std::vector<int64_t>& list) {
  b.put<uint32_t>(kArray);
  b.put<uint32_t>(kU8);
  b.put(static_cast<uint64_t>(list.size()));
  for (const int64_t x : list) b.put(static_cast<uint8_t>(x));
}

void put_value(Bytes& b, const GgufValue& value) {
  if (const auto* x = std::get_if<bool>(&value)) {
    b.put<uint32_t>(kBool);
    put_element(b, *x);
  } else if (const auto* n = std::get_if<int64_t>(&value)) {
    HONE_BUG_IF(*n < 0 || *n > UINT32_MAX, "{} in 32 bits", *n);
    b.put<uint32_t>(kU32);
    b.put(static_cast<uint32_t>(*n));
  } else if (const auto* d = std::get_if<double>(&value)) {
    b.put<uint32_t>(kF32);
    put_element(b, *d);
  } else if (const auto* s = std::get_if<std::string>(&value)) {
    b.put<uint32_t>(kString);
    b.put_text(*s);
  } else if (const auto* flags = std::get_if<std::vector<bool>>(&value)) {
    put_list(b, *flags);
  } else if (const auto* ids = std::get_if<std::vector<int64_t>>(&value)) {
    put_list(b, *ids);
  } else if (const auto* reals = std::get_if<std::vector<double>>(&value)) {
    put_list(b, *reals);
  } else {
    put_list(b, std::get<std::vector<std::string>>(value));
  }
}

int64_t elements_of(const GgufOutput& o) {
  int64_t n = 1;
  for (const int64_t size : o.shape) n *= size;
  return n;
}
int64_t bytes_of(const GgufOutput& o) { return elements_of(o) / o.format->block * o.format->bytes; }

}  // namespace

Status save_gguf(const std::string& path, const GgufMetadata& metadata,
                 std::span<const GgufOutput> outputs, const ReadFloats& read, Store& store) {
  Bytes head;
  for (const char c : {'G', 'G', 'U', 'F'}) head.put(c);
  head.put<uint32_t>(3);
  head.put(static_cast<uint64_t>(outputs.size()));
  head.put(static_cast<uint64_t>(metadata.size()));
  for (const auto& [key, value] : metadata) {
    head.put_text(key);
    if (key == kByteList)
      put_bytes(head, std::get<std::vector<int64_t>>(value));
    else
      put_value(head, value);
  }
  int64_t at = 0;
  for (const GgufOutput& o : outputs) {
    HONE_BUG_IF(o.format->encode == nullptr || o.shape.back() % o.format->block != 0,
                "'{}' with rows of {} as {}", o.name, o.shape.back(), o.format->name);
    head.put_text(o.name);
    head.put(static_cast<uint32_t>(o.shape.size()));
    for (size_t i = o.shape.size(); i-- > 0;) head.put(static_cast<uint64_t>(o.shape[i]));
    head.put(o.format->id);
    head.put(static_cast<uint64_t>(at));
    at += (bytes_of(o) + kAlignment - 1) / kAlignment * kAlignment;
  }
  head.pad();
  HashedFile file = HONE_TRY(HashedFile::create(path, store));
  HONE_TRY(file.write(head.text()));
  std::vector<float> values;
  std::vector<std::byte> coded;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const GgmlFormat& format = *outputs[i].format;
    values.resize(static_cast<size_t>(elements_of(outputs[i])));
    HONE_TRY(read(i, values));
    const int64_t blocks = elements_of(outputs[i]) / format.block;
    for (int64_t first = 0; first < blocks; first += kChunkBlocks) {
      const int64_t n = std::min(kChunkBlocks, blocks - first);
      coded.resize(static_cast<size_t>(n * format.bytes));
      format.encode(values.data() + first * format.block, n, coded.data());
      HONE_TRY(file.write(coded));
    }
    const std::vector<std::byte> padding(
        static_cast<size_t>((kAlignment - bytes_of(outputs[i]) % kAlignment) % kAlignment));
    HONE_TRY(file.write(padding));
  }
  return file.commit();
}

}  // namespace hone
