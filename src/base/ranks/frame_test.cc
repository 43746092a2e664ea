#include "base/ranks/frame.h"

#include <gmock/gmock.h>

#include "base/ranks/errors.h"

namespace hone {
namespace {

using ::testing::HasSubstr;

TEST(Frame, ReadsWhatWasWrittenHoweverItIsCut) {
  const Frame first{{{"do", "set"}, {"key", "a\n"}}, std::string("\0hone", 5)}, second{};
  const std::string bytes = encode_frame(first) + encode_frame(second);
  for (size_t step = 1; step <= bytes.size(); ++step) {
    FrameReader reader(kRankLimits);
    std::vector<Frame> got;
    for (size_t at = 0; at < bytes.size(); at += step) {
      reader.add(std::string_view(bytes).substr(at, step));
      while (auto frame = reader.next().value()) got.push_back(std::move(*frame));
    }
    ASSERT_EQ(got.size(), 2u) << step;
    EXPECT_EQ(got[0].head, first.head);
    EXPECT_EQ(got[0].body, first.body);
    EXPECT_EQ(got[1].head, Json::object());
  }
}

TEST(Frame, RefusesWhatIsNotAFrameAtItsFirstBytes) {
  const auto refusal = [](std::string_view bytes, FrameLimits limits) {
    FrameReader reader(limits);
    reader.add(bytes);
    const auto frame = reader.next();
    EXPECT_FALSE(frame.ok()) << bytes;
    return frame.ok() ? "" : fmt::format("{} {}", frame.error().code(), frame.error().what());
  };
  EXPECT_THAT(refusal("GET / HTTP/1.1\r\n\r\n", kServerLimits), HasSubstr("H0128"));
  EXPECT_THAT(refusal("GE", kServerLimits), HasSubstr("does not begin with 'hone'"));
  EXPECT_THAT(refusal(std::string_view("hone\xff\xff\xff\xff\0\0\0\0", 12), kServerLimits),
              HasSubstr("4294967295 and 0 bytes are more"));
  EXPECT_THAT(refusal(encode_frame({{}, "x"}), {64, 0}), HasSubstr("more than"));
  EXPECT_THAT(refusal(std::string_view("hone\2\0\0\0\0\0\0\0[]", 14), kRankLimits),
              HasSubstr("not an object"));
  EXPECT_THAT(refusal(std::string_view("hone\2\0\0\0\0\0\0\0{]", 14), kRankLimits),
              HasSubstr("H0128"));
}

}  // namespace
}  // namespace hone
