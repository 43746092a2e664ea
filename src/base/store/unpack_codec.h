// The interface of decompressors.
#pragma once

#include <string>
#include <string_view>

namespace hone {

class UnpackCodec {
 public:
  enum class Did { kSome, kMemberEnd, kFailed, kRefused };
  virtual ~UnpackCodec() = default;
  // Unpacks from the front of `in` to `to` and advances both. kFailed (damaged) and kRefused set
  // `why`.
  virtual Did step(std::string_view& in, char*& to, char* end, std::string& why) = 0;
  virtual void next_member() = 0;
};

}  // namespace hone
