#include "learn/checkpoint/gguf/gguf.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <set>

#include "engine/graph/type.h"
#include "learn/checkpoint/gguf/errors.h"
#include "learn/checkpoint/gguf/gguf_types.h"

namespace hone {
namespace {

constexpr int64_t kWidth[kTypes] = {1, 1, 2,  2, 4, 4, 4,
                                    1, 8, 12, 8, 8, 8};  // least bytes of one value

// Sequential reading of the front of a file through a buffer.
class Cursor {
 public:
  explicit Cursor(const ByteFile& file) : file_(file) {}
  int64_t at() const { return at_; }
  int64_t left() const { return file_.size() - at_; }

  Error damaged(std::string what) const {
    return Error(err::kGgufDamaged, fmt::format("'{}': {}", file_.path(), std::move(what)))
        .todo("download the file again; it is damaged");
  }

  Status bytes(std::span<std::byte> out) {
    if (static_cast<int64_t>(out.size()) > left())
      return damaged(fmt::format("it ends at byte {}, in the middle of its header", file_.size()));
    while (!out.empty()) {
      if (at_ < start_ || at_ >= start_ + static_cast<int64_t>(buffer_.size())) {
        start_ = at_;
        buffer_.resize(static_cast<size_t>(std::min<int64_t>(int64_t{1} << 20, left())));
        HONE_TRY(file_.read_at(start_, buffer_));
      }
      const size_t from = static_cast<size_t>(at_ - start_);
      const size_t n = std::min(out.size(), buffer_.size() - from);
      std::memcpy(out.data(), buffer_.data() + from, n);
      out = out.subspan(n);
      at_ += static_cast<int64_t>(n);
    }
    return Ok{};
  }

  template <class T>
  Result<T> number() {
    T x{};
    HONE_TRY(bytes(std::as_writable_bytes(std::span(&x, 1))));
    return x;
  }

  Result<std::string> text(std::string_view what) {
    const auto length = HONE_TRY(number<uint64_t>());
    if (length > static_cast<uint64_t>(left()))
      return damaged(fmt::format("{} claims {} bytes of text, {} are left", what, length, left()));
    std::string s(static_cast<size_t>(length), '\0');
    HONE_TRY(bytes(std::as_writable_bytes(std::span(s.data(), s.size()))));
    return s;
  }

 private:
  const ByteFile& file_;
  int64_t at_ = 0;
  int64_t start_ = 0;
  std::vector<std::byte> buffer_;
};

Result<int64_t> integer(Cursor& in, uint32_t type, const std::string& key) {
  switch (type) {
    case kU8:
      return int64_t{HONE_TRY(in.number<uint8_t>())};
    case kI8:
      return int64_t{HONE_TRY(in.number<int8_t>())};
    case kU16:
      return int64_t{HONE_TRY(in.number<uint16_t>())};
    case kI16:
      return int64_t{HONE_TRY(in.number<int16_t>())};
    case kU32:
      return int64_t{HONE_TRY(in.number<uint32_t>())};
    case kI32:
      return int64_t{HONE_TRY(in.number<int32_t>())};
    case kI64:
      return HONE_TRY(in.number<int64_t>());
    default:
      break;
  }
  const auto x = HONE_TRY(in.number<uint64_t>());
  if (x > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
    return in.damaged(fmt::format("'{}' holds {}, larger than 63 bits", key, x));
  return static_cast<int64_t>(x);
}

Result<bool> boolean(Cursor& in, const std::string& key) {
  const auto x = HONE_TRY(in.number<uint8_t>());
  if (x > 1) return in.damaged(fmt::format("'{}' is a truth value of {}", key, x));
  return x == 1;
}

Result<double> real(Cursor& in, uint32_t type) {
  if (type == kF32) return static_cast<double>(HONE_TRY(in.number<float>()));
  return HONE_TRY(in.number<double>());
}

template <class T, class One>
Result<GgufValue> list(uint64_t n, const One& one) {
  std::vector<T> items;
  items.reserve(n);
  for (uint64_t i = 0; i < n; ++i) items.push_back(HONE_TRY(one()));
  return GgufValue(std::move(items));
}

Result<GgufValue> value(Cursor& in, const std::string& key) {
  const auto type = HONE_TRY(in.number<uint32_t>());
  if (type >= kTypes)
    return in.damaged(fmt::format("'{}' has the unknown value type {}", key, type));
  if (type == kString) return GgufValue(HONE_TRY(in.text(key)));
  if (type == kBool) return GgufValue(HONE_TRY(boolean(in, key)));
  if (type == kF32 || type == kF64) return GgufValue(HONE_TRY(real(in, type)));
  if (type != kArray) return GgufValue(HONE_TRY(integer(in, type, key)));

  const auto of = HONE_TRY(in.number<uint32_t>());
  const auto n = HONE_TRY(in.number<uint64_t>());
  if (of >= kTypes || of == kArray)
    return in.damaged(fmt::format("'{}' is a list of values of type {}", key, of));
  if (n > static_cast<uint64_t>(in.left() / kWidth[of]))
    return in.damaged(
        fmt::format("'{}' claims {} values, the file has {} bytes left", key, n, in.left()));
  if (of == kString) return list<std::string>(n, [&] { return in.text(key); });
  if (of == kBool) return list<bool>(n, [&] { return boolean(in, key); });
  if (of == kF32 || of == kF64) return list<double>(n, [&] { return real(in, of); });
  return list<int64_t>(n, [&] { return integer(in, of, key); });
}

Result<GgufTensor> tensor(Cursor& in, const ByteFile& file) {
  GgufTensor t{HONE_TRY(in.text("the name of a tensor")), {}, nullptr, 0, 0};
  const auto wrong = [&](std::string what) {
    return in.damaged(fmt::format("tensor '{}': {}", t.name, what));
  };
  const auto rank = HONE_TRY(in.number<uint32_t>());
  if (rank > 4) return wrong(fmt::format("it claims {} dimensions, 4 are the most", rank));
  int64_t count = 1;
  for (uint32_t i = 0; i < rank; ++i) {
    const auto size = HONE_TRY(in.number<uint64_t>());
    if (size == 0) return wrong("it has a dimension of 0");
    if (size > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) ||
        __builtin_mul_overflow(count, static_cast<int64_t>(size), &count))
      return wrong("it has more elements than 63 bits count");
    t.shape.insert(t.shape.begin(), static_cast<int64_t>(size));
  }
  const auto id = HONE_TRY(in.number<uint32_t>());
  t.format = ggml_format(id);
  if (t.format == nullptr)
    return Error(err::kGgufUnsupported,
                 fmt::format("'{}': tensor '{}' has the unknown element format {}", file.path(),
                             t.name, id))
        .todo("use a file in F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1 or a K format");
  const int64_t row = t.shape.empty() ? 1 : t.shape.back();
  if (row % t.format->block != 0)
    return wrong(fmt::format("rows of {} are not whole {} blocks of {}", row, t.format->name,
                             t.format->block));
  if (__builtin_mul_overflow(count / t.format->block, t.format->bytes, &t.bytes))
    return wrong("it has more bytes than 63 bits count");
  const auto offset = HONE_TRY(in.number<uint64_t>());
  if (offset > static_cast<uint64_t>(file.size()))
    return wrong(fmt::format("it starts at byte {} of the data, past the end", offset));
  t.offset = static_cast<int64_t>(offset);
  return t;
}

// Turns offsets within the data into offsets within the file.
Status place(GgufFile& g, const Cursor& in, const ByteFile& file) {
  if (const auto* a = g.get<int64_t>("general.alignment")) g.alignment = *a;
  if (g.alignment < 1 || g.alignment > (1 << 20) || (g.alignment & (g.alignment - 1)) != 0)
    return in.damaged(fmt::format("general.alignment is {}, which is not a power of two up to 2^20",
                                  g.alignment));
  const int64_t start = (in.at() + g.alignment - 1) / g.alignment * g.alignment;
  std::vector<const GgufTensor*> order;
  for (GgufTensor& t : g.tensors) {
    if (t.offset % g.alignment != 0)
      return in.damaged(
          fmt::format("tensor '{}' starts at byte {} of the data, not a multiple of {}", t.name,
                      t.offset, g.alignment));
    t.offset += start;
    if (t.offset > file.size() || t.bytes > file.size() - t.offset)
      return in.damaged(fmt::format(
          "tensor '{}' ({} bytes at {}) does not fit the file of {} bytes: it is cut short", t.name,
          t.bytes, t.offset, file.size()));
    order.push_back(&t);
  }
  std::sort(order.begin(), order.end(), [](const GgufTensor* a, const GgufTensor* b) {
    return std::pair(a->offset, a->bytes) < std::pair(b->offset, b->bytes);
  });
  for (size_t i = 1; i < order.size(); ++i)
    if (order[i]->offset < order[i - 1]->offset + order[i - 1]->bytes)
      return in.damaged(
          fmt::format("tensors '{}' and '{}' overlap", order[i - 1]->name, order[i]->name));
  return Ok{};
}

}  // namespace

Result<GgufFile> read_gguf(const ByteFile& file) {
  Cursor in(file);
  GgufFile g;
  const auto magic = HONE_TRY(in.number<uint32_t>());
  if (magic != 0x46554747) return in.damaged("it does not begin with 'GGUF'");
  g.version = HONE_TRY(in.number<uint32_t>());
  if (g.version != 2 && g.version != 3)
    return Error(err::kGgufUnsupported,
                 fmt::format("'{}' is GGUF version {}", file.path(),
                             (g.version & 0xffff) == 0 ? "big-endian" : std::to_string(g.version)))
        .todo(
            "convert the model again with a current llama.cpp: hone reads little-endian versions 2 "
            "and 3");
  const auto tensors = HONE_TRY(in.number<uint64_t>());
  const auto values = HONE_TRY(in.number<uint64_t>());
  // A tensor takes at least 24 bytes of header, a value 13.
  if (tensors > static_cast<uint64_t>(in.left() / 24) ||
      values > static_cast<uint64_t>(in.left() / 13))
    return in.damaged(fmt::format("it claims {} tensors and {} values in {} bytes", tensors, values,
                                  file.size()));
  for (uint64_t i = 0; i < values; ++i) {
    std::string key = HONE_TRY(in.text("a key"));
    if (g.metadata.contains(key)) return in.damaged(fmt::format("key '{}' appears twice", key));
    GgufValue v = HONE_TRY(value(in, key));
    g.metadata.emplace(std::move(key), std::move(v));
  }
  std::set<std::string> names;
  for (uint64_t i = 0; i < tensors; ++i) {
    g.tensors.push_back(HONE_TRY(tensor(in, file)));
    if (!names.insert(g.tensors.back().name).second)
      return in.damaged(fmt::format("tensor '{}' appears twice", g.tensors.back().name));
  }
  HONE_TRY(place(g, in, file));
  return g;
}

}  // namespace hone
