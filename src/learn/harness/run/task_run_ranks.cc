// Steps and evaluations of a run on several ranks.
#include <csignal>
#include <cstring>

#include "base/core/hash.h"
#include "base/core/held_stop.h"
#include "base/core/signals.h"
#include "learn/data/batches/rank_rows.h"
#include "learn/harness/run/task_run.h"
#include "learn/train/shared_update.h"

namespace hone {
namespace {

// Outputs of a program in a message: each begins at a multiple of this.
constexpr size_t kMessageUnit = 64;

// The beginning of the message of an evaluation's micro-batch; outputs follow if there are some.
struct EvalHead {
  int32_t more = 0;  // labels that need another pass
  int32_t stop = 0;  // the signal that this rank has received
};
static_assert(sizeof(EvalHead) <= kMessageUnit);

EvalHead head_of(const std::string& message) {
  EvalHead head;
  std::memcpy(&head, message.data(), sizeof head);
  return head;
}

}  // namespace

Result<ArenaLimits> TaskRun::limits_of_ranks(const ArenaLimits& own) {
  ArenaLimits least = own;
  for (const Json& one :
       HONE_TRY(ranks().gather("memory", Json::array({own.device, own.host, own.disk})))) {
    least.device = std::min(least.device, one.at(0).get<int64_t>());
    least.host = std::min(least.host, one.at(1).get<int64_t>());
    least.disk = std::min(least.disk, one.at(2).get<int64_t>());
  }
  return least;
}

Status TaskRun::agree_on(Fit& fit, const ArenaLimits& limits, int64_t wanted) {
  // Shares of a state differ by a row, so a rank may have room where another one has none.
  int64_t rows = fit.rows, train_bytes = fit.budgets.train_bytes;
  bool whole = fit.whole;
  for (const Json& one : HONE_TRY(ranks().gather(
           "micro-batch", Json::array({fit.rows, fit.whole, fit.budgets.train_bytes})))) {
    rows = std::min(rows, one.at(0).get<int64_t>());
    whole = whole && one.at(1).get<bool>();
    train_bytes = std::min(train_bytes, one.at(2).get<int64_t>());
  }
  if (rows > 0 && (rows != fit.rows || whole != fit.whole)) {
    const auto shapes = [&](int64_t r, bool is_whole) { return shapes_for(r, is_whole); };
    fit = HONE_TRY(fit_run(*made_, *backend_, wanted, limits, shapes, Split{rows, whole}));
  }
  fit.rows = std::min(fit.rows, rows);
  fit.budgets.train_bytes = std::min(fit.budgets.train_bytes, train_bytes);
  split_ = {fit.rows, fit.whole};
  return Ok{};
}

Status TaskRun::check_ranks() const {
  if (ranks().alone()) return Ok{};
  Json facts = fingerprint();
  facts.erase("settings");
  uint64_t collectives = kFnvBasis;
  for (const Program& p : session_->programs())
    collectives = fnv1a(collectives, collectives_fingerprint(p));
  facts["collectives"] = fmt::format("{:016x}", collectives);
  facts["host"] = ranks().host();
  // Bits depend on the instruction set, not on the number of threads. Kernels follow from it and from
  // shapes, and shares of a state differ by a row.
  const std::string machine = backend_->description();
  facts["machine"] = machine.substr(0, machine.find(','));
  facts.erase("kernels");
  return check_equal_facts(HONE_TRY(ranks().gather("facts of the run", facts)));
}

// From ZeRO stage 2 on, gradients are cut between the ranks after each micro-batch.
bool TaskRun::reduces_each_batch() const {
  return !ranks().data().alone() && !in_units() && shapes_.accumulate && s_.zero_stage >= 2;
}

// From stage 3 on.
bool TaskRun::gathers_weights() const { return !ranks().shard().alone() && s_.zero_stage >= 3; }

// Recompute depends on the shape of a program, and so does when weights are gathered.
bool TaskRun::has_equal_shapes() const {
  return gathers_weights() || (!ranks().alone() && ranks().in_one_process() && !in_units());
}

// Programs have collectives, which the control plane counts: all ranks run them as often.
bool TaskRun::runs_equally() const {
  return reduces_each_batch() || has_equal_shapes() || ranks_of_rows() > 1;
}

Result<bool> TaskRun::on_any_rank(bool mine) {
  const char own = mine ? 1 : 0;
  bool any = false;
  for (const std::string& one : HONE_TRY(ranks().gather_bytes({&own, 1}))) any = any || one[0] != 0;
  return any;
}

// By micro-batch the most tokens of a rank, on each axis.
Result<std::vector<AxisTokens>> TaskRun::most_tokens(const TakenRows& all) {
  std::vector<AxisTokens> most;
  Share share = ranks().data();
  for (share.rank = 0; share.rank < share.ranks; ++share.rank) {
    own_rows_.clear();
    add_rows_of_rank(all.rows.rows, s_.batch_rows(), share, own_rows_);
    HONE_TRY(plan_rows({all.data, {own_rows_, all.rows.numbers}}, shapes_.train, plan_));
    if (plan_.batches.size() > most.size()) most.resize(plan_.batches.size());
    for (size_t k = 0; k < plan_.batches.size(); ++k)
      for (size_t a = 0; a < kMaxAxes; ++a)
        most[k][a] = std::max(most[k][a], plan_.batches[k].tokens[a]);
  }
  return most;
}

int64_t TaskRun::most_rounds() const {
  const int64_t n = ranks().data().ranks;
  return (shapes_.units + n - 1) / n;
}

Result<TakenRows> TaskRun::plan_units_of(const TakenRows& all) {
  HONE_TRY(take_lengths(all));
  plan_units(lengths_, shapes_.train, unit_rows(), ranks().data(), plan_);
  return all;
}

void TaskRun::put_present(BoundProgram& program, size_t round) {
  const int64_t n = ranks().data().ranks, units = (plan_.rows + unit_rows() - 1) / unit_rows();
  program.inputs.get<int64_t>("present")[0] = std::min(n, units - static_cast<int64_t>(round) * n);
}

void TaskRun::keep_unit_loss(size_t round, double loss) {
  if (!plan_.batches[round].rows.empty()) unit_losses_[round] = loss;
}

void TaskRun::find_rows_of(int64_t step, RowsOfStep& rows) {
  rows.all.clear();
  rows.mine.clear();
  rows.epoch = feed_->append_rows_of(step, rows.all);
  if (!in_units()) {
    add_rows_of_rank(rows.all, s_.batch_rows(), ranks().data(), rows.mine);
    return;
  }
  const int64_t count = std::ssize(rows.all), n = ranks().data().ranks;
  for (int64_t i = 0; i < count; ++i)
    if (i / unit_rows() % n == ranks().data().rank)
      rows.mine.push_back(rows.all[static_cast<size_t>(i)]);
}

Result<TakenRows> TaskRun::plan_part(const TakenRows& all) {
  if (in_units()) return plan_units_of(all);
  if (ranks().alone()) {
    HONE_TRY(plan_rows(all, shapes_.train, plan_));
    return all;
  }
  whole_step_.rows = std::ssize(all.rows.rows);
  whole_step_.tokens = {};
  for (size_t a = 0; a < all.data->axes.size(); ++a)
    for (const int64_t row : all.rows.rows) whole_step_.tokens[a] += all.data->axes[a].length(row);
  std::vector<AxisTokens> most(1);
  if (runs_equally()) most = HONE_TRY(most_tokens(all));
  own_rows_.clear();
  add_rows_of_rank(all.rows.rows, s_.batch_rows(), ranks().data(), own_rows_);
  const TakenRows mine{all.data, {own_rows_, all.rows.numbers}};
  HONE_TRY(plan_rows(mine, shapes_.train, plan_));
  add_empty_batches(most.size(), all.data->axes.size(), shapes_.train, plan_);
  if (has_equal_shapes())
    for (size_t k = 0; k < most.size(); ++k)
      plan_.batches[k].shape = shapes_.train.index(std::span(most[k]).first(all.data->axes.size()));
  return mine;
}

void TaskRun::take_side(int64_t step) {
  if (!examples_.side_of_step) return;
  const size_t each = shapes_.train.shapes.size() / made_->form.sides.size();
  for (MicroBatchPlan& batch : plan_.batches)
    batch.shape = examples_.side_of_step(step) * each + batch.shape % each;
}

void TaskRun::take_reduced(const BoundProgram& program, double loss_scale, StepSums& sums) {
  sums.loss = session_->output<double>(program.index, "loss")[0] / loss_scale;
  if (session_->output<double>(program.index, "stops")[0] == 0) return;
  // Another rank has received the signal.
  request_stop(HeldStops::waiting() != 0 ? HeldStops::waiting() : SIGTERM);
}

// The message of this rank's micro-batch: a head, and the outputs of its program.
Result<std::string> TaskRun::outputs_of_pass(const EvalPart& part, int64_t pass) {
  CollatedRows rows = rows_of(part.rows, part.batch, CollatedRows::kEvaluation);
  rows.pass = pass;
  BoundProgram& program = eval_programs_[part.batch.shape];
  EvalHead head;
  head.more = HONE_TRY(examples_.collate(rows, program.inputs)) ? 1 : 0;
  head.stop = HeldStops::waiting();
  session_->run(program.index);
  std::string message(kMessageUnit, '\0');
  std::memcpy(message.data(), &head, sizeof head);
  for (const Named& n : session_->programs()[program.index].outputs) {
    const std::span<const std::byte> bytes = session_->output_bytes(program.index, n.name);
    message.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    message.resize((message.size() + kMessageUnit - 1) / kMessageUnit * kMessageUnit);
  }
  return message;
}

// Each rank runs one of the micro-batches, and all ranks add the outputs of all in their order, so
// every rank has the metrics, and their bits are those of one rank.
Status TaskRun::evaluate_parts(std::span<EvalPart> parts, EvalMetrics& metrics) {
  const auto own = static_cast<size_t>(ranks().data().rank);
  EvalPart nothing{{parts[0].rows.data, {}}, {}};
  if (in_units()) {
    nothing.batch.shape = parts[0].batch.shape;
  } else if (gathers_weights()) {
    for (const EvalPart& part : parts)
      for (size_t a = 0; a < kMaxAxes; ++a)
        nothing.batch.tokens[a] = std::max(nothing.batch.tokens[a], part.batch.tokens[a]);
    nothing.batch.shape =
        shapes_.eval.index(std::span(nothing.batch.tokens).first(parts[0].rows.data->axes.size()));
    for (EvalPart& part : parts) part.batch.shape = nothing.batch.shape;
  }
  std::vector<std::vector<std::string>> passes;  // messages by pass and rank
  bool more = true;
  for (bool mine = own < parts.size(); more;) {
    const auto pass = static_cast<int64_t>(passes.size());
    std::string message(kMessageUnit, '\0');
    if (mine)
      message = HONE_TRY(outputs_of_pass(parts[own], pass));
    else if (gathers_weights() || ranks_of_rows() > 1)
      HONE_TRY(outputs_of_pass(nothing, 0));
    HONE_TRY(check_device());
    mine = head_of(message).more != 0;
    passes.push_back(HONE_TRY(ranks().gather_bytes(message)));
    more = false;
    for (const std::string& one : passes.back()) {
      more = more || head_of(one).more != 0;
      if (head_of(one).stop != 0) request_stop(head_of(one).stop);
    }
  }
  for (size_t rank = 0; rank < parts.size(); ++rank) {
    const EvalPart& part = parts[rank];
    BoundProgram& program = eval_programs_[part.batch.shape];
    CollatedRows rows = rows_of(part.rows, part.batch, CollatedRows::kEvaluation);
    for (bool again = true; again; ++rows.pass) {
      again = HONE_TRY(examples_.collate(rows, program.inputs));
      std::string& message = passes[static_cast<size_t>(rows.pass)][rank * ranks_of_rows()];
      Batch outputs;
      size_t at = kMessageUnit;
      for (const Named& n : session_->programs()[program.index].outputs) {
        const size_t bytes = session_->output_bytes(program.index, n.name).size();
        outputs.add(n.name, std::as_writable_bytes(std::span(message).subspan(at, bytes)));
        at += (bytes + kMessageUnit - 1) / kMessageUnit * kMessageUnit;
      }
      if (!metrics.add(rows, outputs)) return why_not_finite(program, rows);
    }
  }
  return Ok{};
}

// The value that the first rank with one has found.
Status TaskRun::add_not_finite_of_ranks(NotFiniteStep& why) {
  const std::vector<Json> all = HONE_TRY(ranks().gather(
      "the cause of a step that is not finite", {{"first", why.first}, {"rows", why.rows}}));
  for (const Json& one : all) {
    if (one.at("first").get<std::string>().empty()) continue;
    why = {one.at("first").get<std::string>(), one.at("rows").get<std::vector<std::string>>()};
    break;
  }
  return Ok{};
}

}  // namespace hone
