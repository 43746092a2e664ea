// Ranks of one process train a small model together: in every stage of ZeRO, with any number of them,
// as one rank does.
#include "learn/train/shared_update.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>

#include "base/core/whole_test.h"
#include "base/store/temporary_folder.h"
#include "engine/backends/cpu/backend.h"
#include "engine/comm/loopback.h"
#include "engine/device/interpret.h"
#include "engine/ops/ops.h"
#include "engine/passes/differentiate.h"
#include "engine/passes/pipelines.h"
#include "engine/plan/plan.h"
#include "engine/session/session.h"
#include "learn/train/update.h"

namespace hone {
namespace {

constexpr int64_t kIn = 128, kHidden = 64, kOut = 16, kSharedSteps = 20;

// Rows of a step and how they are trained.
struct TrainCase {
  int64_t rows = 12;
  int64_t micro_batches = 1;
  int stage = 0;
  std::string optim = "adamw_torch";
  double max_grad_norm = 0.5;
  bool mixed = false;         // a tied weight, frozen ones in two types
  bool some_targets = false;  // only some rows have one
  int64_t broken_step = -1;   // in which rank 0 has a row that is not finite
  int64_t stop_step = -1;     // in which the last rank is asked to stop
  Recompute recompute = {};
  Offload offload = {};
  Precision precision = Precision::f32;
  DType gradients = DType::f32;  // of matrices
  bool copies = false;           // products in bf16 read copies of weights that are on the host
  int64_t unit_rows = 0;         // of micro-batches that no number of ranks changes; 0: others
  int64_t units() const { return (rows + unit_rows - 1) / unit_rows; }
  int64_t group_bytes = 8192;  // first.w has parts, the others are a group
  int64_t shard_ranks = 0;     // of a group that cuts states; 0: all
  int64_t same_units = 1;      // ranks that compute a unit together
};

// One number for each place of the data.
float datum(int64_t step, int64_t row, int64_t column) {
  const double x = std::sin(static_cast<double>(step * 7919 + row * 104729 + column * 1299709));
  return static_cast<float>(x);
}
bool has_target(const TrainCase& s, int64_t step, int64_t row) {
  return !s.some_targets || (step * 5 + row * row) % 4 != 0;
}

struct ModelState {
  std::string name;
  Type type;
  bool trained = true;
};
std::vector<ModelState> states_of_model(const TrainCase& s) {
  std::vector<ModelState> all{
      {"first.w", {DType::f32, {kIn, kHidden}}},   {"first.b", {DType::f32, {kHidden}}},
      {"second.w", {DType::f32, {kHidden, kOut}}}, {"second.b", {DType::f32, {kOut}}},
      {"pair", {DType::f32, {2, kOut}}},           {"gain", {DType::f32, {}}}};
  if (s.mixed) {
    all.push_back({"frozen.w", {DType::f32, {kHidden, kOut}}, false});
    all.push_back({"frozen.narrow", {DType::bf16, {kOut, kOut}}, false});
  }
  return all;
}
std::vector<UpdateWeight> weights_of_model(const TrainCase& s) {
  std::vector<UpdateWeight> weights;
  for (const ModelState& m : states_of_model(s))
    if (m.trained)
      weights.push_back({m.name, m.type, m.type.rank() == 2, false, m.type.rank() == 2});
  return weights;
}

// loss = scale sum over rows of mask |model(x) - y|^2.
Program model(const TrainCase& s, const std::string& name, int64_t rows) {
  Program p(op_table(), name);
  Builder b(p);
  const ValueId x = p.add_input("x", {DType::f32, {rows, kIn}}),
                y = p.add_input("y", {DType::f32, {rows, kOut}}),
                mask = p.add_input("mask", {DType::f32, {rows}}),
                scale = p.add_input("scale", {DType::f32, {}});
  std::map<std::string, ValueId> w;
  for (const ModelState& m : states_of_model(s)) {
    State state;
    state.name = m.name;
    state.trainable = m.trained;
    w[m.name] = p.add_state(std::move(state), m.type);
  }
  const auto linear = [&](const char* layer, ValueId in) {
    const Builder::Scope scope(b, layer);
    return ops::linear(b, in, w.at(layer + std::string(".w")),
                       {.bias = w.at(layer + std::string(".b"))});
  };
  const ValueId hidden = ops::gelu(b, linear("first", x));
  ValueId out = ops::mul(b, linear("second", hidden), w.at("gain"));
  const ValueId shift = ops::reduce_sum(b, w.at("pair"), {0});
  out = ops::add(b, out, ops::broadcast(b, shift, {rows, kOut}, {1}));
  ValueId extra = kNoValue;
  if (s.mixed) {
    out = ops::add(b, out, ops::linear(b, hidden, w.at("frozen.w")));
    out = ops::linear(b, out, ops::cast(b, w.at("frozen.narrow"), DType::f32));
    // first.w is tied.
    const ValueId again = ops::linear(b, hidden, w.at("first.w"), {.trans_w = true});
    extra = ops::reduce_sum(b, ops::mul(b, again, again), {1});
  }
  const ValueId off = ops::sub(b, out, y);
  ValueId row = ops::reduce_sum(b, ops::mul(b, off, off), {1});
  if (extra != kNoValue) row = ops::add(b, row, extra);
  const ValueId sum = ops::reduce_sum(b, ops::mul(b, row, mask), {0});
  p.outputs.push_back({"loss", ops::mul(b, sum, scale)});
  return p;
}

UpdateOptions share_options(const TrainCase& s, const Share& share) {
  TrainSettings settings;
  settings.optim = s.optim;
  settings.max_grad_norm = s.max_grad_norm;
  settings.weight_decay = 0.01;
  if (s.optim == "apollo_adamw") settings.optim_args = "rank=4";
  UpdateOptions o = update_options(settings).value();
  o.group_bytes = s.group_bytes;
  const int64_t cut = s.shard_ranks > 0 ? s.shard_ranks : share.ranks;
  o.share = {share.rank % cut, cut};
  o.replica = {share.rank / cut, share.ranks / cut};
  o.stage = s.stage;
  o.gradients = s.gradients;
  if (s.unit_rows > 0) {
    o.split_invariant = true;
    o.units = s.units();
    o.copies = s.same_units;
  }
  return o;
}

std::vector<Program> programs_of(const TrainCase& s, const Share& share, int64_t rows) {
  const std::vector<UpdateWeight> weights = weights_of_model(s);
  const UpdateOptions options = share_options(s, share);
  TrainPasses how{.precision = s.precision,
                  .recompute = s.recompute,
                  .offload = s.offload,
                  .gradients = s.gradients,
                  .data = data_axis(options)};
  if (s.copies) {
    how.copies = {"first.w", "second.w"};
    how.offload = {.moments = Space::host,
                   .masters = Space::host,
                   .least_elements = 0,
                   .host_lane = HostLane::one_place};
  }
  if (!share.alone()) how.sharding = sharding_of(weights, options, 0);
  if (s.same_units > 1) {
    const int64_t own = share.rank % s.same_units;
    how.division = {{own, s.same_units}, share.rank - own};
  }
  std::vector<Program> programs;
  const auto add = [&](Program p, const std::vector<Pass>& passes) {
    (void)run_passes(p, passes, {}).value();
    programs.push_back(std::move(p));
  };
  const auto add_eval = [&] {
    add(model(s, "eval", rows), forward_pipeline(WeightStorage::f32, how));
  };
  if (s.micro_batches == 1 && s.unit_rows == 0) {
    add(model(s, "step", rows), step_pipeline(
                                    [&](Program& p) -> Result<bool> {
                                      append_update(p, weights, options);
                                      return true;
                                    },
                                    how));
    add_eval();
    return programs;
  }
  for (const bool accumulate : {false, true}) {
    std::function<Result<bool>(Program&)> shares;
    if (options.is_shared() && s.stage >= 2)
      shares = [&, accumulate](Program& p) -> Result<bool> {
        share_gradients(p, weights, options, accumulate);
        return true;
      };
    add(model(s, accumulate ? "accumulate" : "train", rows),
        train_pipeline(accumulate, how, shares));
  }
  add(build_update(weights, options), update_pipeline(how));
  add_eval();
  return programs;
}

// The results of a rank's steps.
struct Trained {
  std::vector<double> losses, norms, stops;
  std::map<std::string, std::vector<float>> weights;  // its rows
  std::map<std::string, int64_t> first;               // element of the whole weight
  int64_t moment_bytes = 0, weight_bytes = 0;
  float evaluated = 0;  // loss of its rows afterwards
  uint64_t collectives = 0;
};

class Rank {
 public:
  Rank(const TrainCase& s, Group& group)
      : s_(s), group_(group), share_{group.rank(), group.ranks()}, backend_(open()) {
    const RowRange mine = share_rows(s.rows, share_);
    const int64_t most = (s.rows + share_.ranks - 1) / share_.ranks;
    micro_rows_ = s.unit_rows > 0 ? s.unit_rows : (most + s.micro_batches - 1) / s.micro_batches;
    groups_ = {share_.rank / s.same_units, share_.ranks / s.same_units};
    rounds_ = s.unit_rows > 0 ? (s.units() + groups_.ranks - 1) / groups_.ranks : s.micro_batches;
    mine_ = mine;
    session_.emplace(
        std::move(Session::compile(programs_of(s, share_, micro_rows_), *backend_).value()));
  }

  Result<Trained> train() {
    const TemporaryFolder folder;
    HONE_TRY(session_->allocate(folder.path));
    EXPECT_EQ(session_->arena()->bytes(), session_->plan().arena_bytes());
    for (const ModelState& m : states_of_model(s_)) start(m);
    for (int64_t step = 1; step <= kSharedSteps; ++step) HONE_TRY(take(step));
    const size_t eval = session_->programs().size() - 1;
    put_rows(eval, 0, 0, 1);
    run(eval);
    done_.evaluated = session_->output<float>(eval, "loss")[0];
    for (const UpdateWeight& w : weights_of_model(s_)) {
      done_.weights[w.name] = session_->state_values<float>(w.name);
      done_.first[w.name] = session_->held_range(w.name).begin / 4;
    }
    for (const StateSlot& slot : session_->plan().states) {
      if (slot.role == Role::moment) done_.moment_bytes += slot.type.bytes();
      if (slot.role == Role::param) done_.weight_bytes += slot.type.bytes();
    }
    for (const Program& p : session_->programs()) done_.collectives ^= collectives_fingerprint(p);
    EXPECT_EQ(group_.bytes_sent(), planned_);
    return std::move(done_);
  }

 private:
  std::unique_ptr<Backend> open() {
    std::unique_ptr<Backend> backend = std::move(open_cpu_backend(1).value());
    backend->device().set_group(&group_);
    return backend;
  }

  void start(const ModelState& m) {
    std::vector<double> values;
    const int64_t inputs = m.type.rank() == 2 ? m.type.shape[0] : 1;
    const double scale = m.type.rank() == 0 ? 0 : 1 / std::sqrt(static_cast<double>(inputs));
    for (int64_t i = 0; i < m.type.count(); ++i)
      values.push_back((m.type.rank() == 0 ? 1 : 0) +
                       scale * datum(0, static_cast<int64_t>(m.name.size()), i));
    const Tensor t = Tensor::of(m.type, values);
    session_->write_state(m.name, std::as_bytes(std::span(t.bytes)));
  }

  void put_rows(size_t program, int64_t step, int64_t batch, double targets) {
    const auto x = session_->input<float>(program, "x"), y = session_->input<float>(program, "y"),
               mask = session_->input<float>(program, "mask");
    for (int64_t i = 0; i < micro_rows_; ++i) {
      const int64_t unit = batch * groups_.ranks + groups_.rank;
      const int64_t row =
          (s_.unit_rows > 0 ? unit * micro_rows_ : mine_.begin + batch * micro_rows_) + i;
      const bool is_there = row < (s_.unit_rows > 0 ? s_.rows : mine_.end);
      mask[static_cast<size_t>(i)] = is_there && has_target(s_, step, row) ? 1 : 0;
      for (int64_t c = 0; c < kIn; ++c)
        x[static_cast<size_t>(i * kIn + c)] = is_there ? datum(step, row, c) : 0;
      for (int64_t c = 0; c < kOut; ++c)
        y[static_cast<size_t>(i * kOut + c)] = is_there ? datum(step, row, kIn + c) : 0;
    }
    if (step == s_.broken_step && share_.rank == 0) y[0] = INFINITY;
    session_->input<float>(program, "scale")[0] = static_cast<float>(1 / targets);
    if (session_->has_input(program, "present"))
      session_->input<int64_t>(program, "present")[0] =
          std::min(groups_.ranks, s_.units() - batch * groups_.ranks);
  }

  void run(size_t program) {
    session_->run(program);
    planned_ += session_->plan().programs[program].traffic_bytes;
  }

  void put_update(size_t program, int64_t step) {
    session_->input<double>(program, "lr")[0] = 0.0003;
    session_->input<int64_t>(program, "step")[0] = step;
    if (!session_->has_input(program, "stop")) return;
    const bool stops = step == s_.stop_step && share_.rank == share_.ranks - 1;
    session_->input<double>(program, "stop")[0] = stops ? 1 : 0;
  }

  Status take(int64_t step) {
    double targets = 0, loss = 0;
    for (int64_t row = 0; row < s_.rows; ++row) targets += has_target(s_, step, row) ? 1 : 0;
    const size_t last = session_->programs().size() - 2;  // before that of evaluation
    put_update(last, step);
    std::vector<double> unit_losses(static_cast<size_t>(rounds_), 0);
    for (int64_t k = 0; k < rounds_; ++k) {
      const size_t program = k == 0 ? 0 : 1;
      put_rows(program, step, k, targets);
      if (last == 0) put_update(0, step);
      run(program);
      if (last == 0 && !share_.alone()) continue;
      loss += unit_losses[static_cast<size_t>(k)] = session_->output<float>(program, "loss")[0];
      if (k * groups_.ranks + groups_.rank >=
          (s_.unit_rows > 0 ? s_.units() : rounds_ * groups_.ranks))
        unit_losses[static_cast<size_t>(k)] = 0;
    }
    if (last > 0) {
      put_update(last, step);
      if (s_.unit_rows > 0)
        std::copy(unit_losses.begin(), unit_losses.end(),
                  session_->input<double>(last, "local_losses").begin());
      else if (!share_.alone())
        session_->input<double>(last, "local_loss")[0] = loss;
      run(last);
    }
    HONE_TRY(session_->check());
    if (!share_.alone()) {
      loss = session_->output<double>(last, "loss")[0];
      done_.stops.push_back(session_->output<double>(last, "stops")[0]);
    }
    if (s_.unit_rows > 0) {
      loss = 0;
      for (const double of_unit : session_->output<double>(last, "losses")) loss += of_unit;
    }
    done_.losses.push_back(loss);
    done_.norms.push_back(session_->output<double>(last, "grad_norm")[0]);
    return Ok{};
  }

  const TrainCase& s_;
  Group& group_;
  const Share share_;
  Share groups_;  // of ranks that compute the same units
  std::unique_ptr<Backend> backend_;
  std::optional<Session> session_;
  RowRange mine_;
  int64_t micro_rows_ = 0, rounds_ = 0, planned_ = 0;
  Trained done_;
};

std::vector<Trained> train_ranks(const TrainCase& s, int ranks) {
  LoopbackWorld world(ranks);
  std::vector<Trained> all(static_cast<size_t>(ranks));
  const Status done = world.run([&](Group& g) -> Status {
    all[static_cast<size_t>(g.rank())] = HONE_TRY(Rank(s, g).train());
    return Ok{};
  });
  EXPECT_TRUE(done.ok()) << done.error().text();
  return all;
}

// The weights of all ranks, which agree where several have the same rows.
std::vector<float> whole_weights(const TrainCase& s, const std::vector<Trained>& all) {
  std::vector<float> joined;
  for (const UpdateWeight& w : weights_of_model(s)) {
    std::vector<float> whole(static_cast<size_t>(w.type.count()), NAN);
    for (const Trained& rank : all) {
      const std::vector<float>& part = rank.weights.at(w.name);
      float* to = whole.data() + rank.first.at(w.name);
      for (size_t i = 0; i < part.size(); ++i) {
        EXPECT_TRUE(std::isnan(to[i]) || to[i] == part[i]) << w.name << "[" << i << "]";
        to[i] = part[i];
      }
    }
    joined.insert(joined.end(), whole.begin(), whole.end());
  }
  return joined;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

void expect_near(const std::vector<double>& got, const std::vector<double>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], want[i], 1e-6 * std::fabs(want[i])) << "step " << i + 1;
}

// All stages with 1 to 4 ranks; whole steps have the same bits in every stage, steps of micro-batches
// in two and two.
void compare_stages(TrainCase s) {
  s.stage = 0;
  const std::vector<Trained> one = train_ranks(s, 1);
  for (const int ranks : {2, 3, 4}) {
    std::vector<std::vector<float>> by_stage;
    std::vector<float> evaluated;  // by stage, of rank 0
    for (int stage = 0; stage <= 3; ++stage) {
      SCOPED_TRACE(
          fmt::format("{} ranks, stage {}, {} micro-batches", ranks, stage, s.micro_batches));
      s.stage = stage;
      const std::vector<Trained> all = train_ranks(s, ranks);
      by_stage.push_back(whole_weights(s, all));
      evaluated.push_back(all[0].evaluated);
      expect_near(all[0].losses, one[0].losses);
      for (const Trained& rank : all) {
        EXPECT_EQ(rank.losses, all[0].losses);
        EXPECT_EQ(rank.norms, all[0].norms);
        EXPECT_EQ(rank.collectives, all[0].collectives);
      }
    }
    EXPECT_TRUE(same_bits(by_stage[0], by_stage[1])) << ranks;
    EXPECT_TRUE(same_bits(by_stage[2], by_stage[3])) << ranks;
    EXPECT_EQ(evaluated[2], evaluated[3]) << ranks << " ranks gather weights to evaluate";
    if (s.micro_batches == 1) {
      EXPECT_TRUE(same_bits(by_stage[1], by_stage[2])) << ranks;
    }
  }
}

TEST(SharedUpdate, EveryStageAndWorldTrainsAsOneRank) {
  for (const int64_t micro_batches : {1, 2}) compare_stages({.micro_batches = micro_batches});
}

// MiCS: groups of ranks cut states, and replicas have the same bits (whole_weights). The sums have another order than
// those over all ranks at once.
TEST(SharedUpdate, GroupsOfRanksTrainAsOneRank) {
  for (const auto& [ranks, group] : {std::pair(4, 2), {6, 3}, {6, 2}})
    for (const int64_t micro_batches : {1, 2}) {
      TrainCase s{.micro_batches = micro_batches, .mixed = true, .shard_ranks = group};
      const Trained one = train_ranks({.micro_batches = micro_batches, .mixed = true}, 1)[0];
      std::vector<std::vector<float>> by_stage;
      for (s.stage = 1; s.stage <= 3; ++s.stage) {
        SCOPED_TRACE(fmt::format("{} ranks in groups of {}, stage {}, {} micro-batches", ranks,
                                 group, s.stage, micro_batches));
        const std::vector<Trained> all = train_ranks(s, ranks);
        by_stage.push_back(whole_weights(s, all));
        expect_near(all[0].losses, one.losses);
        for (const Trained& rank : all) {
          EXPECT_EQ(rank.losses, all[0].losses);
          EXPECT_EQ(rank.norms, all[0].norms);
          EXPECT_EQ(rank.collectives, all[0].collectives);
          const double share = static_cast<double>(one.moment_bytes) / group;
          EXPECT_NEAR(static_cast<double>(rank.moment_bytes), share, 0.02 * share);
        }
      }
      EXPECT_TRUE(same_bits(by_stage[1], by_stage[2]));
      if (micro_batches == 1) {
        EXPECT_TRUE(same_bits(by_stage[0], by_stage[1]));
      }
    }
}

TEST(SharedUpdate, GroupsOfRanksTakeEveryOptimizer) {
  for (const char* optim : {"adafactor", "adamw_8bit", "apollo_adamw", "muon"}) {
    SCOPED_TRACE(optim);
    TrainCase s{.stage = 1, .optim = optim, .shard_ranks = 2};
    const std::vector<Trained> all = train_ranks(s, 4);
    const std::vector<float> weights = whole_weights(s, all);
    s.stage = 3;
    EXPECT_TRUE(same_bits(whole_weights(s, train_ranks(s, 4)), weights));
    s.shard_ranks = 0;
    expect_near(all[0].losses, train_ranks({.optim = optim}, 1)[0].losses);
  }
}

// FIELD-2026, rule 4: the last batch is uneven, and no rank waits for another at the end.
TEST(SharedUpdate, Rule4AnUnevenBatchWeighsRight) {
  compare_stages({.rows = 10});
  compare_stages({.rows = 5, .micro_batches = 2});
}

// Rule 17: the loss does not depend on the number of ranks, whose numbers of targets differ.
TEST(SharedUpdate, Rule17TheLossIsOfAllTargets) {
  compare_stages({.rows = 11, .some_targets = true});
}

// Rule 24: tied, frozen and narrow weights are cut up as all others.
TEST(SharedUpdate, Rule24TiedFrozenAndMixedTypes) { compare_stages({.mixed = true}); }

TEST(SharedUpdate, WithoutClippingToo) { compare_stages({.max_grad_norm = 0}); }

TEST(SharedUpdate, StatesAreAShareOfTheWhole) {
  const TrainCase plain;
  const Trained one = train_ranks(plain, 1)[0];
  for (const int ranks : {2, 3, 4})
    for (const int stage : {1, 2, 3})
      for (const Trained& rank : train_ranks({.stage = stage}, ranks)) {
        const auto share = [&](int64_t bytes) { return static_cast<double>(bytes) / ranks; };
        const double moments = share(one.moment_bytes), weights = share(one.weight_bytes);
        EXPECT_NEAR(static_cast<double>(rank.moment_bytes), moments, 0.02 * moments) << ranks;
        if (stage != 3) continue;
        EXPECT_NEAR(static_cast<double>(rank.weight_bytes), weights, 0.02 * weights) << ranks;
      }
}

// Rules for whole tensors give each to one rank; blocks of 8-bit states stay whole.
TEST(SharedUpdate, EveryOptimizerHasTheSameBitsInEveryStage) {
  std::set<const Optimizer*> seen;
  for (const std::string& optim : optimizer_names()) {
    if (!seen.insert(&optimizer_named(optim)).second) continue;
    SCOPED_TRACE(optim);
    const TrainCase s{.optim = optim};
    const std::vector<float> sums = whole_weights(s, train_ranks(s, 3));
    for (const int stage : {1, 3}) {
      TrainCase other = s;
      other.stage = stage;
      EXPECT_TRUE(same_bits(whole_weights(other, train_ranks(other, 3)), sums)) << stage;
    }
  }
}

// Recomputation and other homes of values change no bit.
TEST(SharedUpdate, PlacesChangeNoBit) {
  const Offload on_host{.moments = Space::host, .host_lane = HostLane::one_place};
  const Offload on_disk{.moments = Space::disk,
                        .params = Space::disk,
                        .gradients = Space::disk,
                        .activations = Space::disk,
                        .least_elements = 0};
  for (const int64_t micro_batches : {1, 2})
    for (int stage = 0; stage <= 3; ++stage) {
      const TrainCase s{.micro_batches = micro_batches, .stage = stage};
      const std::vector<float> plain = whole_weights(s, train_ranks(s, 2));
      TrainCase other = s;
      other.recompute = {.share = 0.3};
      EXPECT_TRUE(same_bits(whole_weights(other, train_ranks(other, 2)), plain)) << stage;
      for (const Offload& to : {on_host, on_disk}) {
        other = s;
        other.offload = to;
        EXPECT_TRUE(same_bits(whole_weights(other, train_ranks(other, 2)), plain))
            << stage << " " << name_of(to.params);
      }
    }
}

TEST(SharedUpdate, CopiesForProductsChangeNoBit) {
  const TrainCase plain{.precision = Precision::bf16};
  const std::vector<float> weights = whole_weights(plain, train_ranks(plain, 2));
  for (int stage = 0; stage <= 3; ++stage) {
    TrainCase s = plain;
    s.stage = stage;
    s.copies = true;
    EXPECT_TRUE(same_bits(whole_weights(s, train_ranks(s, 2)), weights)) << stage;
  }
}

// Gradients of matrices are in bf16, those of vectors in f32: two buckets for each group.
TEST(SharedUpdate, NarrowGradientsHaveBucketsOfTheirOwn) {
  for (const int64_t micro_batches : {1, 2}) {
    const auto weights = [&](int stage) {
      const TrainCase s{.micro_batches = micro_batches,
                        .stage = stage,
                        .precision = Precision::bf16,
                        .gradients = DType::bf16};
      return whole_weights(s, train_ranks(s, 3));
    };
    EXPECT_TRUE(same_bits(weights(0), weights(1))) << micro_batches;
    EXPECT_TRUE(same_bits(weights(2), weights(3))) << micro_batches;
  }
}

TEST(SharedUpdate, OneRanksBrokenRowChangesNoRanksWeights) {
  for (const int stage : {0, 3})
    for (const int64_t micro_batches : {1, 2}) {
      TrainCase s{.micro_batches = micro_batches, .stage = stage};
      s.broken_step = kSharedSteps;
      const std::vector<Trained> all = train_ranks(s, 3);
      const std::vector<float> weights = whole_weights(s, all);
      for (const float x : weights) ASSERT_TRUE(std::isfinite(x));
      for (const Trained& rank : all) {
        EXPECT_FALSE(std::isfinite(rank.losses.back()));
        EXPECT_FALSE(std::isfinite(rank.norms.back()));
      }
    }
}

TEST(SharedUpdate, AllRanksSeeThatOneIsAskedToStop) {
  for (const int64_t micro_batches : {1, 2}) {
    TrainCase s{.micro_batches = micro_batches};
    s.stop_step = 3;
    for (const Trained& rank : train_ranks(s, 3)) {
      EXPECT_EQ(rank.stops[1], 0);
      EXPECT_EQ(rank.stops[2], 1);
      EXPECT_EQ(rank.stops[3], 0);
    }
  }
}

// The most bytes alive at once in a step over 16 weights, each in a group of its own.
int64_t live_with(const Share& share, int stage) {
  Program p(op_table(), "step");
  Builder b(p);
  ValueId x = p.add_input("x", {DType::f32, {4, 64}});
  std::vector<UpdateWeight> weights;
  for (int i = 0; i < 16; ++i) {
    weights.push_back({fmt::format("w{}", i), {DType::f32, {64, 64}}});
    State s;
    s.name = weights.back().name;
    s.trainable = true;
    const ValueId w = p.add_state(std::move(s), weights.back().type);
    x = ops::tanh(b, ops::matmul(b, x, w));
  }
  p.outputs.push_back({"loss", ops::reduce_sum(b, x, {0, 1})});
  const UpdateOptions options = share_options({.stage = stage, .group_bytes = 64 * 64 * 4}, share);
  const auto append = [&](Program& q) -> Result<bool> {
    append_update(q, weights, options);
    return true;
  };
  (void)run_passes(p, step_pipeline(append), {}).value();
  const PlanInput in{&p, {}};
  return plan_run({&in, 1}).value().programs[0].live_bytes;
}

// All gradients wait for the norm; cut up, a share of them does, beside two buckets under way.
TEST(SharedUpdate, AShareOfTheGradientsWaits) {
  const int64_t one = 64 * 64 * 4, plain = live_with({}, 0);
  EXPECT_GE(plain, 16 * one);
  EXPECT_NEAR(static_cast<double>(live_with({1, 4}, 0)), static_cast<double>(plain), one);
  EXPECT_LE(live_with({1, 4}, 1), 16 * one / 4 + 4 * one);
}

// Reductions start while the backward pass computes.
TEST(SharedUpdate, ReductionsRunBesideTheBackwardPass) {
  for (const int stage : {0, 1, 2}) {
    const Program p = programs_of({.stage = stage, .group_bytes = 2048}, {0, 2}, 6)[0];
    size_t first = p.nodes.size(), last = 0;
    for (size_t i = 0; i < p.nodes.size(); ++i) {
      const Node& n = p.nodes[i];
      if (n.op->traffic && n.scope.starts_with("gradients.")) first = std::min(first, i);
      if (n.phase == Phase::backward) last = i;
    }
    EXPECT_LT(first, last) << stage;
  }
}

TEST(SharedUpdate, OneRankHasTheProgramItHad) {
  TrainCase s;
  s.stage = 3;
  const Program p = programs_of(s, {}, 4)[0];
  for (const Node& n : p.nodes) EXPECT_FALSE(n.op->traffic) << n.op->name;
  EXPECT_EQ(p.input_named("stop"), kNoValue);
}

// Units of two rows, five and a half of them: the last round lacks some with two ranks or more.
TEST(SharedUpdate, UnitsGiveEveryWorldTheSameBits) {
  for (const char* optim : {"adamw_torch", "adafactor", "adamw_bnb_8bit"})
    for (const double max_grad_norm : {0.5, 0.0}) {
      TrainCase s{.rows = 11, .stage = 2, .optim = optim, .max_grad_norm = max_grad_norm};
      s.unit_rows = 2;
      s.some_targets = true;
      const std::vector<Trained> one = train_ranks(s, 1);
      const std::vector<float> weights = whole_weights(s, one);
      for (const int ranks : {2, 3, 4, 7})
        for (const int stage : {2, 3}) {
          // A sample has each world with each stage, with clipping or without.
          if ((ranks + stage + (max_grad_norm > 0)) % 2 != 0 && !tests_whole()) continue;
          SCOPED_TRACE(fmt::format("{} {} ranks, stage {}", optim, ranks, stage));
          s.stage = stage;
          const std::vector<Trained> all = train_ranks(s, ranks);
          EXPECT_TRUE(same_bits(whole_weights(s, all), weights));
          for (const Trained& rank : all) {
            EXPECT_EQ(rank.losses, one[0].losses);
            EXPECT_EQ(rank.norms, one[0].norms);
          }
        }
    }
}

// And so do groups that cut the states.
TEST(SharedUpdate, UnitsGiveGroupsOfRanksTheSameBits) {
  for (const char* optim : {"adamw_torch", "adafactor"}) {
    TrainCase s{.rows = 11, .stage = 2, .optim = optim};
    s.unit_rows = 2;
    s.some_targets = true;
    const std::vector<Trained> one = train_ranks(s, 1);
    const std::vector<float> weights = whole_weights(s, one);
    const std::vector<std::pair<int, int>> worlds{{4, 2}, {6, 3}, {6, 2}};
    for (const auto& [ranks, group] : worlds)
      for (const int stage : {2, 3}) {
        SCOPED_TRACE(
            fmt::format("{} {} ranks in groups of {}, stage {}", optim, ranks, group, stage));
        s.stage = stage;
        s.shard_ranks = group;
        const std::vector<Trained> all = train_ranks(s, ranks);
        EXPECT_TRUE(same_bits(whole_weights(s, all), weights));
        for (const Trained& rank : all) {
          EXPECT_EQ(rank.losses, one[0].losses);
          EXPECT_EQ(rank.norms, one[0].norms);
        }
        s.shard_ranks = 0;
      }
  }
}

// Two or three ranks compute a unit together, and divide the rows of its products.
TEST(SharedUpdate, RanksThatShareAUnitHaveTheSameBits) {
  TrainCase s{.rows = 500, .stage = 2, .mixed = true};
  s.unit_rows = 193;
  s.some_targets = true;
  const std::vector<Trained> one = train_ranks(s, 1);
  const std::vector<float> weights = whole_weights(s, one);
  struct World {
    int ranks, together, stage;
  };
  for (const World& w : {World{2, 2, 3}, {4, 2, 2}, {6, 3, 3}}) {
    SCOPED_TRACE(fmt::format("{} ranks, {} together, stage {}", w.ranks, w.together, w.stage));
    s.stage = w.stage;
    s.same_units = w.together;
    const std::vector<Program> programs = programs_of(s, {1, w.ranks}, s.unit_rows);
    const auto is_part = [&](const Node& n) {
      return n.op->name == "linear" && programs[0].type(n.out[0]).shape[0] < s.unit_rows;
    };
    EXPECT_TRUE(std::any_of(programs[0].nodes.begin(), programs[0].nodes.end(), is_part));
    const std::vector<Trained> all = train_ranks(s, w.ranks);
    EXPECT_TRUE(same_bits(whole_weights(s, all), weights));
    for (const Trained& rank : all) {
      EXPECT_EQ(rank.losses, one[0].losses);
      EXPECT_EQ(rank.norms, one[0].norms);
    }
  }
}

TEST(SharedUpdate, AllRanksOfAUnitMayAskToStop) {
  TrainCase s{.rows = 8, .stage = 2, .stop_step = 2};
  s.unit_rows = 2;
  s.same_units = 2;  // the last rank has no loss of its own
  for (const Trained& rank : train_ranks(s, 4)) {
    EXPECT_EQ(rank.stops[0], 0);
    EXPECT_EQ(rank.stops[1], 1);
    EXPECT_EQ(rank.stops[2], 0);
  }
}

// Weights in bf16 after three updates on two ranks, whose gradients differ.
std::vector<uint16_t> randomly_rounded(int stage) {
  const std::vector<UpdateWeight> weights{{"w", {DType::bf16, {6, 4}}}, {"v", {DType::bf16, {5}}}};
  std::vector<uint16_t> all;
  LoopbackWorld world(2);
  const Status done = world.run([&](Group& group) -> Status {
    UpdateOptions options = share_options({.stage = stage}, {group.rank(), 2});
    options.stochastic_rounding = true;
    const std::unique_ptr<Backend> backend = HONE_TRY(open_cpu_backend(1));
    backend->device().set_group(&group);
    std::vector<Program> programs;
    programs.push_back(build_update(weights, options));
    Session s = HONE_TRY(Session::compile(std::move(programs), *backend));
    HONE_TRY(s.allocate());
    for (int64_t step = 1; step <= 3; ++step) {
      for (const UpdateWeight& w : weights) {
        std::vector<float> g(static_cast<size_t>(w.type.count()));
        for (size_t i = 0; i < g.size(); ++i)
          g[i] = datum(step, group.rank(), static_cast<int64_t>(i));
        s.write_state("grad." + w.name, std::as_bytes(std::span(g)));
      }
      s.input<double>(0, "lr")[0] = 0.01;
      s.input<int64_t>(0, "step")[0] = step;
      s.run(0);
      HONE_TRY(s.check());
    }
    if (group.rank() == 1)
      for (const UpdateWeight& w : weights)
        for (const uint16_t x : s.state_values<uint16_t>(w.name)) all.push_back(x);
    return Ok{};
  });
  EXPECT_TRUE(done.ok()) << done.error().text();
  return all;
}

TEST(SharedUpdate, RandomRoundingDoesNotDependOnTheStage) {
  const std::vector<uint16_t> plain = randomly_rounded(0);
  EXPECT_EQ(plain.size(), 29u);
  EXPECT_NE(plain, std::vector<uint16_t>(29));
  EXPECT_EQ(randomly_rounded(1), plain);
}

}  // namespace
}  // namespace hone
