// Lines and lengths of generated texts.
#include "learn/harness/generated_texts.h"

#include <gtest/gtest.h>

#include <cmath>

#include "learn/tokenizers/load/load.h"

namespace hone {
namespace {

const std::string kPairs = std::string(HONE_SOURCE_DIR) + "/tests/goldens/pairs/";

TEST(WrittenTexts, LengthsCountWhatIsNoPadding) {
  GeneratedLengths t5(0), bart(1);
  EXPECT_TRUE(std::isnan(t5.mean()));
  const std::vector<int32_t> start{0}, tokens{5, 6, 1}, other{2}, padded{2, 1, 1};
  t5.add(start, tokens);  // it starts with the padding token
  EXPECT_EQ(t5.mean(), 3);
  bart.add(other, tokens);
  bart.add(other, padded);
  EXPECT_EQ(bart.mean(), 2.5);
}

TEST(WrittenTexts, LinesAreThoseOfTheScript) {
  const Tokenizer t5 = load_tokenizer(kPairs + "t5").value();
  EXPECT_EQ(prediction_line("  It is n't here , he 's gone .  ", t5), "It isn't here, he's gone.");
  EXPECT_EQ(prediction_line("the king ' s men !", t5), "the king's men!");
  const Tokenizer bart = load_tokenizer(kPairs + "bart").value();
  EXPECT_EQ(prediction_line(" so , he .\n", bart), "so , he .");
}

}  // namespace
}  // namespace hone
