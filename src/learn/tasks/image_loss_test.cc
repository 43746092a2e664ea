// The loss and its gradient against timm's BinaryCrossEntropy (tools/golden_binary_loss.py).
#include "learn/tasks/image_loss.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/core/json.h"
#include "engine/backends/backends.h"
#include "engine/device/interpret.h"
#include "engine/ops/ops.h"
#include "engine/passes/differentiate.h"

namespace hone {
namespace {

std::vector<double> flat_numbers(const nlohmann::json& rows) {
  std::vector<double> all;
  for (const auto& row : rows)
    for (const auto& v : row) all.push_back(v.get<double>());
  return all;
}

TEST(ImageLoss, IsTimms) {
  std::ifstream file(HONE_SOURCE_DIR "/tests/goldens/image_losses/binary.json");
  const nlohmann::json golden = nlohmann::json::parse(file);
  const auto backend = open_backend("cpu", {.threads = 1}).value();
  ASSERT_GE(golden["cases"].size(), 4u);
  for (const nlohmann::json& c : golden["cases"]) {
    const std::vector<double> logits = flat_numbers(golden["logits"]),
                              shares = flat_numbers(c["shares"]);
    // The last image is not there.
    const auto images = static_cast<int64_t>(golden["logits"].size()),
               classes = static_cast<int64_t>(logits.size()) / images;
    const Type type{DType::f32, {images + 1, classes}};
    const auto with_nothing = [&](std::vector<double> v, double fill) {
      v.resize(v.size() + static_cast<size_t>(classes), fill);
      return Tensor::of(type, v);
    };
    Program p(op_table(), "loss");
    Builder b(p);
    State s;
    s.name = "logits";
    s.trainable = true;
    const ValueId x = p.add_state(std::move(s), type), t = p.add_input("shares", type),
                  scale = p.add_input("scale", {DType::f32, {}});
    p.outputs.push_back({"loss", binary_cross_entropy(b, x, t, scale,
                                                      {.threshold = c["threshold"].get<double>(),
                                                       .sums = c["sums"].get<bool>()})});
    ASSERT_TRUE(differentiate(p, Gradients::values).ok());
    Tensors given;
    given["logits"] = with_nothing(logits, 7);
    given["shares"] = with_nothing(shares, 0);
    given["scale"] = Tensor::of({DType::f32, {}}, {1 / static_cast<double>(images)});
    const Result<Outcome> out = interpret(p, *backend, given);
    ASSERT_TRUE(out.ok()) << out.error().text();
    EXPECT_NEAR(out->outputs.at("loss").numbers()[0], c["loss"].get<double>(), 1e-6);
    const std::vector<double> got = out->outputs.at("grad.logits").numbers(),
                              want = flat_numbers(c["gradient"]);
    for (size_t i = 0; i < got.size(); ++i)
      EXPECT_NEAR(got[i], i < want.size() ? want[i] : 0, 1e-7) << c << " " << i;
  }
}

}  // namespace
}  // namespace hone
