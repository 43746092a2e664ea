// Differences of two runs in words for people.
#include "learn/train/ledger.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

TEST(LedgerWords, ASettingHasItsValues) {
  const Difference d{"learning_rate", 0.01, 0.02};
  EXPECT_EQ(d.text(), "'learning_rate' was 0.01 and is 0.02 now");
  EXPECT_EQ(d.other(), "another 'learning_rate'");
  EXPECT_EQ(d.values(), "0.01 then, 0.02 now");
}

TEST(LedgerWords, InternalKeysHaveWords) {
  EXPECT_EQ((Difference{"kernels", "180f", "9283"}).text(),
            "the run had other kernels, of another processor or version of hone");
  EXPECT_EQ((Difference{"order", {{"seed", 42}}, {{"seed", 43}}}).text(),
            "the run had another order of the rows");
  EXPECT_EQ((Difference{"total_steps", 6, 8}).text(),
            "the run had another number of steps (6 then, 8 now)");
  EXPECT_EQ((Difference{"data", "12", "34"}).values(), "");
}

// All keys of a fingerprint that are compared.
TEST(LedgerWords, EveryKeyOfAFingerprintHasWords) {
  for (const char* key : {"data", "stream", "model", "kernels", "machine", "micro_batch_rows",
                          "split", "order", "total_steps", "step_rows", "update", "evaluation"}) {
    const Difference d{key, 1, 2};
    EXPECT_EQ(d.other().find('\''), std::string::npos) << key;
  }
}

}  // namespace
}  // namespace hone
