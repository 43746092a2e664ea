#include "base/ranks/frame.h"

#include "base/ranks/errors.h"

namespace hone {
namespace {

constexpr std::string_view kMagic = "hone";
constexpr size_t kPrefixBytes = 12;
constexpr int kMostFrameDepth = 8;

void append_length(std::string& to, size_t length) {
  for (int i = 0; i < 4; ++i) to += static_cast<char>((length >> (8 * i)) & 0xff);
}

size_t length_at(std::string_view bytes, size_t at) {
  size_t length = 0;
  for (size_t i = 0; i < 4; ++i)
    length |= static_cast<size_t>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
  return length;
}

Error malformed(const std::string& why) {
  return Error(err::kControlMessage, "a message of the control plane is malformed: " + why)
      .todo("check that MASTER_ADDR and MASTER_PORT name the control plane of this run");
}

}  // namespace

std::string encode_frame(const Frame& frame) {
  const std::string head = dump_json(frame.head);
  std::string bytes(kMagic);
  append_length(bytes, head.size());
  append_length(bytes, frame.body.size());
  return bytes + head + frame.body;
}

Result<std::optional<Frame>> FrameReader::next() {
  const std::string_view left = std::string_view(bytes_).substr(taken_);
  const std::string_view begin = left.substr(0, kMagic.size());
  if (begin != kMagic.substr(0, begin.size())) return malformed("it does not begin with 'hone'");
  if (left.size() < kPrefixBytes) return std::optional<Frame>();
  const size_t head_bytes = length_at(left, 4), body_bytes = length_at(left, 8);
  if (head_bytes > limits_.head_bytes || body_bytes > limits_.body_bytes)
    return malformed(fmt::format("{} and {} bytes are more than {} and {}", head_bytes, body_bytes,
                                 limits_.head_bytes, limits_.body_bytes));
  if (left.size() < kPrefixBytes + head_bytes + body_bytes) return std::optional<Frame>();
  Frame frame;
  const JsonRules rules{.strict = true, .max_depth = kMostFrameDepth};
  if (const auto fault = parse_json(left.substr(kPrefixBytes, head_bytes), rules, frame.head))
    return malformed(fault->what);
  if (!frame.head.is_object()) return malformed("its head is not an object");
  frame.body = left.substr(kPrefixBytes + head_bytes, body_bytes);
  taken_ += kPrefixBytes + head_bytes + body_bytes;
  if (taken_ == bytes_.size() || taken_ > (size_t{1} << 20)) {
    bytes_.erase(0, taken_);
    taken_ = 0;
  }
  return std::optional<Frame>(std::move(frame));
}

}  // namespace hone
