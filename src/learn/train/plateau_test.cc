// Rates against PyTorch's ReduceLROnPlateau (tests/goldens/learn_train/schedules.json, made again by
// tools/golden_schedules.py).
#include "learn/train/plateau.h"

#include <gtest/gtest.h>

#include <fstream>

namespace hone {
namespace {

TEST(Plateau, RatesOfPyTorchAlsoAfterAResume) {
  const Json golden = Json::parse(
      std::ifstream(std::string(HONE_SOURCE_DIR) + "/tests/goldens/learn_train/schedules.json"));
  for (const Json& c : golden["plateaus"]) {
    SCOPED_TRACE(c["kwargs"].dump());
    const double peak = golden["learning_rate"];
    Plateau whole(peak, c["kwargs"]), resumed(peak, c["kwargs"]);
    for (size_t i = 0; i < c["metrics"].size(); ++i) {
      whole.evaluated(c["metrics"][i].get<double>());
      Plateau next(peak, c["kwargs"]);
      next.restore(resumed.state());
      next.evaluated(c["metrics"][i].get<double>());
      resumed = next;
      EXPECT_NEAR(whole.rate(), c["rates"][i].get<double>(), peak * 1e-12) << "evaluation " << i;
      EXPECT_EQ(resumed.rate(), whole.rate());
    }
  }
}

}  // namespace
}  // namespace hone
