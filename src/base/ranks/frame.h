// Messages of the control plane as bytes: "hone", the lengths of head and body (each 4 bytes, little
// endian), a JSON object, bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/core/json.h"

namespace hone {

struct Frame {
  Json head = Json::object();
  std::string body = {};
};

// The most bytes of a frame that a reader accepts.
struct FrameLimits {
  size_t head_bytes, body_bytes;
};
inline constexpr FrameLimits kStrangerLimits = {size_t{128} << 10,
                                                size_t{64} << 10};  // before a rank has joined
inline constexpr FrameLimits kRankLimits = {size_t{64} << 10, (size_t{1} << 20) + 4096};
inline constexpr FrameLimits kServerLimits = {size_t{1} << 20, size_t{256} << 20};

std::string encode_frame(const Frame& frame);

// Cuts frames out of a stream of bytes.
class FrameReader {
 public:
  explicit FrameReader(FrameLimits limits) : limits_(limits) {}
  void set_limits(FrameLimits limits) { limits_ = limits; }
  void add(std::string_view bytes) { bytes_ += bytes; }
  // The next frame; none: it is incomplete. Error H0128: the bytes are not a frame, or are too many.
  Result<std::optional<Frame>> next();

 private:
  FrameLimits limits_;
  std::string bytes_;
  size_t taken_ = 0;  // bytes of bytes_ that were returned
};

}  // namespace hone
