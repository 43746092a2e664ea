#include "learn/data/imagenet/devkit.h"

#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <vector>

#include "learn/data/imagenet/errors.h"

namespace hone {
namespace {

enum : uint32_t {  // types of parts
  kInt8 = 1,
  kUint8 = 2,
  kInt16 = 3,
  kUint16 = 4,
  kInt32 = 5,
  kUint32 = 6,
  kSingle = 7,
  kDouble = 9,
  kMatrix = 14,
  kCompressed = 15
};
constexpr size_t kHeader = 128;         // bytes before the first part
constexpr size_t kMostMeta = 64 << 20;  // bytes of an unpacked part

template <class T>
T number_at(std::string_view bytes, size_t at) {
  T v{};
  std::memcpy(&v, bytes.data() + at, sizeof v);
  return v;
}

// Parts one after another; nullopt at the end, or where the bytes are not a part.
struct MatPart {
  uint32_t type = 0;
  std::string_view data;
};
class MatParts {
 public:
  explicit MatParts(std::string_view bytes) : rest_(bytes) {}
  std::optional<MatPart> next() {
    constexpr size_t kTag = 8;
    if (rest_.size() < kTag) return {};
    const auto first = number_at<uint32_t>(rest_, 0);
    if (const uint32_t small = first >> 16; small != 0) {  // type and data in one tag
      if (small > 4) return {};
      const MatPart part{first & 0xffff, rest_.substr(4, small)};
      rest_.remove_prefix(kTag);
      return part;
    }
    const size_t size = number_at<uint32_t>(rest_, 4);
    if (size > rest_.size() - kTag) return {};
    const MatPart part{first, rest_.substr(kTag, size)};
    const size_t padded = first == kCompressed ? size : (size + 7) / 8 * 8;
    rest_.remove_prefix(std::min(rest_.size(), kTag + padded));
    return part;
  }

 private:
  std::string_view rest_;
};

std::string inflated(std::string_view packed) {
  std::string out;
  z_stream stream{};
  if (inflateInit(&stream) != Z_OK) return out;
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  std::vector<char> part(size_t{1} << 16);
  int state = Z_OK;
  while (state == Z_OK && out.size() <= kMostMeta) {
    stream.next_out = reinterpret_cast<Bytef*>(part.data());
    stream.avail_out = static_cast<uInt>(part.size());
    state = ::inflate(&stream, Z_NO_FLUSH);
    out.append(part.data(), part.size() - stream.avail_out);
  }
  inflateEnd(&stream);
  return state == Z_STREAM_END ? out : std::string();
}

// The head of a matrix; `parts` continues with its values.
struct MatHead {
  uint32_t kind = 0;
  int64_t elements = 1;
  std::string_view name;
  MatParts parts;
};
std::optional<MatHead> head_of(std::string_view matrix) {
  MatHead head{0, 1, {}, MatParts(matrix)};
  const auto flags = head.parts.next(), sizes = head.parts.next(), name = head.parts.next();
  if (!flags || !sizes || !name || flags->data.size() < 4 || sizes->type != kInt32) return {};
  head.kind = number_at<uint32_t>(flags->data, 0) & 0xff;
  for (size_t at = 0; at + 4 <= sizes->data.size(); at += 4) {
    const auto size = number_at<int32_t>(sizes->data, at);
    if (size < 0 || size > 1 << 20 || head.elements > 1 << 20) return {};
    head.elements *= size;
  }
  head.name = name->data;
  return head;
}

std::optional<MatPart> values_of(std::string_view matrix) {
  std::optional<MatHead> head = head_of(matrix);
  return head ? head->parts.next() : std::nullopt;
}

// The first number of values of this type; none: there is none, or it is too large.
template <class T>
std::optional<int64_t> first_number(std::string_view values) {
  if (values.size() < sizeof(T)) return {};
  const T x = number_at<T>(values, 0);
  if (!(std::abs(static_cast<double>(x)) < 1e9)) return {};
  return static_cast<int64_t>(x);
}
constexpr struct {
  uint32_t type;
  std::optional<int64_t> (*first)(std::string_view);
} kNumbers[] = {
    {kInt8, first_number<int8_t>},   {kUint8, first_number<uint8_t>},
    {kInt16, first_number<int16_t>}, {kUint16, first_number<uint16_t>},
    {kInt32, first_number<int32_t>}, {kUint32, first_number<uint32_t>},
    {kSingle, first_number<float>},  {kDouble, first_number<double>},
};

// The first number, or the text, of a matrix.
std::optional<int64_t> number_of(std::string_view matrix) {
  const std::optional<MatPart> values = values_of(matrix);
  for (const auto& of : kNumbers)
    if (values && of.type == values->type) return of.first(values->data);
  return {};
}
std::string text_of_matrix(std::string_view matrix) {
  const std::optional<MatPart> values = values_of(matrix);
  if (!values) return "";
  const size_t each = values->type == kUint16 ? 2 : 1;
  std::string text;
  for (size_t at = 0; at + each <= values->data.size(); at += each) text += values->data[at];
  return text;
}

constexpr uint32_t kStruct = 2;

// The classes of the struct `synsets`; empty: the matrix is not this one, or is damaged.
std::map<int64_t, std::string> classes_of_synsets(std::string_view matrix) {
  std::map<int64_t, std::string> out;
  std::optional<MatHead> head = head_of(matrix);
  if (!head || head->kind != kStruct || head->name != "synsets") return out;
  const auto width = head->parts.next(), names = head->parts.next();
  if (!width || !names || width->data.size() < 4) return out;
  const auto each = static_cast<size_t>(std::max(1, number_at<int32_t>(width->data, 0)));
  const size_t fields = names->data.size() / each;
  std::optional<size_t> number, id;
  for (size_t i = 0; i < fields; ++i) {
    const std::string name(names->data.substr(i * each, each).data(),
                           ::strnlen(names->data.data() + i * each, each));
    if (name == "ILSVRC2012_ID") number = i;
    if (name == "WNID") id = i;
  }
  if (!number || !id) return out;
  for (int64_t e = 0; e < head->elements; ++e) {
    std::optional<int64_t> n;
    std::string text;
    for (size_t i = 0; i < fields; ++i) {
      const auto part = head->parts.next();
      if (!part || part->type != kMatrix) return {};
      if (i == *number) n = number_of(part->data);
      if (i == *id) text = text_of_matrix(part->data);
    }
    if (!n || !is_wordnet_id(text)) return {};
    out[*n] = text;
  }
  return out;
}

}  // namespace

bool is_wordnet_id(std::string_view text) {
  constexpr size_t kLength = 9;
  return text.size() == kLength && text[0] == 'n' &&
         std::all_of(text.begin() + 1, text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

Result<std::map<int64_t, std::string>> classes_of_meta(std::string_view bytes,
                                                       const std::string& name) {
  const bool little = bytes.size() > kHeader && bytes.substr(kHeader - 2, 2) == "IM";
  MatParts parts(little ? bytes.substr(kHeader) : std::string_view());
  while (const auto part = parts.next()) {
    const std::string unpacked = part->type == kCompressed ? inflated(part->data) : std::string();
    std::optional<MatPart> matrix = part;
    if (part->type == kCompressed) matrix = MatParts(unpacked).next();
    if (!matrix || matrix->type != kMatrix) continue;
    if (auto found = classes_of_synsets(matrix->data); !found.empty()) return found;
  }
  return Error(err::kValidationClasses, "the file has no classes in MATLAB's form")
      .at(name)
      .todo("give the devkit ILSVRC2012_devkit_t12.tar.gz as it was downloaded");
}

}  // namespace hone
