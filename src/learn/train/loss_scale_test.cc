// The loss scale against PyTorch's and DeepSpeed's (tests/goldens/learn_train/loss_scale.json, made
// again by tools/golden_loss_scale.py), and the update with it.
#include "learn/train/loss_scale.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>

#include "engine/backends/backends.h"
#include "engine/backends/tested_backends_test.h"
#include "engine/session/session.h"
#include "learn/train/update.h"

namespace hone {
namespace {

TEST(LossScale, FollowsGradScalerAndDeepSpeed) {
  const Json cases = Json::parse(
      std::ifstream(std::string(HONE_SOURCE_DIR) + "/tests/goldens/learn_train/loss_scale.json"));
  ASSERT_GT(cases.size(), 20u);
  for (const Json& c : cases) {
    const Json& given = c["options"];
    LossScaleOptions o;
    o.initial_power = given.at("initial_scale_power");
    o.window = given.at("loss_scale_window");
    o.hysteresis = given.value("hysteresis", o.hysteresis);
    o.consecutive_hysteresis = given.value("consecutive_hysteresis", false);
    o.least = given.value("min_loss_scale", o.least);
    LossScale scale(o);
    const std::string steps = c["steps"];
    for (size_t i = 0; i < c["scales"].size(); ++i) {
      ASSERT_EQ(scale.value(), c["scales"][i].get<double>()) << c["of"] << given << steps << i;
      // A resumed run continues with the same scale.
      LossScale again(o);
      again.restore(scale.state());
      scale = again;
      if (steps[i] == '1') {
        ASSERT_EQ(scale.step_overflowed(), c["ends"] != Json(i)) << given << steps << i;
      } else {
        scale.step_was_finite();
      }
    }
  }
}

TEST(LossScale, AFixedOneStays) {
  LossScale scale({.fixed = 1000});
  EXPECT_FALSE(scale.step_overflowed());
  for (int i = 0; i < 3000; ++i) scale.step_was_finite();
  EXPECT_EQ(scale.value(), 1000);
  scale.restore({{"value", 2.0}, {"finite_steps", 0}, {"overflows_left", 1}});
  EXPECT_EQ(scale.value(), 1000);
}

// Two groups of weights; gradients of steps that follow one another are multiplied by `scale`.
struct Updates {
  std::vector<UpdateWeight> weights{{"a", {DType::f32, {3, 4}}, true},
                                    {"b", {DType::f32, {5}}, false}};
  Session session;
  explicit Updates(const Backend& backend, const TrainSettings& s, bool scaled)
      : session(compile(backend, s, scaled)) {
    EXPECT_TRUE(session.allocate().ok());
    for (const UpdateWeight& w : weights) fill(w.name, 0.5f, 1);
  }
  Session compile(const Backend& backend, const TrainSettings& s, bool scaled) {
    UpdateOptions options = update_options(s).value();
    options.group_bytes = 48;
    options.scaled = scaled;
    std::vector<Program> programs;
    programs.push_back(build_update(weights, options));
    return std::move(Session::compile(std::move(programs), backend).value());
  }
  void fill(const std::string& name, float begin, float scale) {
    std::vector<float> values(static_cast<size_t>(session.state_type(name).count()));
    for (float& x : values) x = scale * ((begin = std::fmod(begin * 1.7f + 0.11f, 1.0f)) - 0.5f);
    session.write_state(name, std::as_bytes(std::span(values)));
  }
  double step(int64_t number, double scale, bool broken = false) {
    for (const UpdateWeight& w : weights)
      fill("grad." + w.name, 0.1f * static_cast<float>(number), static_cast<float>(scale));
    if (broken) {
      std::vector<float> b = session.state_values<float>("grad.b");
      b[2] = std::numeric_limits<float>::infinity();
      session.write_state("grad.b", std::as_bytes(std::span(b)));
    }
    session.input<double>(0, "lr")[0] = 0.01;
    session.input<int64_t>(0, "step")[0] = number;
    if (session.has_input(0, "loss_scale")) session.input<double>(0, "loss_scale")[0] = scale;
    session.run(0);
    return session.output<double>(0, "grad_norm")[0];
  }
  std::vector<float> all() const {
    std::vector<float> values;
    for (const StateSlot& slot : session.plan().states)
      if (slot.role != Role::grad)
        for (const float x : session.state_values<float>(slot.tensor())) values.push_back(x);
    return values;
  }
};

void expect_same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  ASSERT_EQ(a.size(), b.size());
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(float)), 0);
}

TEST(LossScale, APowerOfTwoChangesNoBitOfTheUpdate) {
  for (const std::string& name : tested_backends(portable_backend_names())) {
    const auto backend = open_backend(name, {.threads = 2}).value();
    if (!backend->computes()) continue;
    for (const double clip : {0.0, 0.7, 100.0}) {
      TrainSettings s;
      s.max_grad_norm = clip;
      s.weight_decay = 0.1;
      Updates plain(*backend, s, false), scaled(*backend, s, true);
      for (int step = 1; step <= 4; ++step)
        EXPECT_EQ(plain.step(step, 1), scaled.step(step, std::ldexp(1.0, 5 * step)))
            << name << clip;
      expect_same_bits(plain.all(), scaled.all());
    }
  }
}

// The same holds if nothing clips, so that no group waits for another.
TEST(LossScale, AnOverflowInOneGroupKeepsAllStates) {
  for (const std::string& name : tested_backends(portable_backend_names())) {
    const auto backend = open_backend(name, {.threads = 2}).value();
    if (!backend->computes()) continue;
    for (const double clip : {0.0, 1.0}) {
      TrainSettings s;
      s.fp16 = true;
      s.max_grad_norm = clip;
      Updates u(*backend, s, true);
      u.step(1, 1024);
      const std::vector<float> before = u.all();
      EXPECT_FALSE(std::isfinite(u.step(2, 1024, true)));
      expect_same_bits(before, u.all());
      EXPECT_TRUE(std::isfinite(u.step(2, 512)));
      EXPECT_NE(std::memcmp(before.data(), u.all().data(), before.size() * sizeof(float)), 0);
    }
  }
}

}  // namespace
}  // namespace hone
