// Steps whose loss compares all rows of the step (JointLoss, learn/harness/task.h): embeddings of all rows, the loss
// by them, and the gradients for the micro-batches. Rows keep their order, whatever the micro-batches and ranks.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "learn/data/batches/rank_rows.h"
#include "learn/harness/run/task_run.h"

namespace hone {

void TaskRun::bind_joint() {
  const auto bind = [&](const std::string& name) {
    const size_t index = session_->program_index(name);
    return BoundProgram{index, inputs_of(*session_, index)};
  };
  JointStep& j = joint_.emplace();
  for (const BatchShape& shape : shapes_.train.shapes)
    j.embed.push_back(bind(program_name("embed", shape)));
  j.loss = bind("joint");
  const auto rows = static_cast<size_t>(s_.batch_rows() * s_.gradient_accumulation_steps);
  const size_t floats = j.loss.inputs.get<float>("embeddings").size();
  j.width = floats / rows;
  j.own.reserve(floats);
  j.embeddings.reserve(floats);
  j.gradient.reserve(floats);
  j.all_places.resize(rows);
  std::iota(j.all_places.begin(), j.all_places.end(), int64_t{0});
  j.places.reserve(rows);
}

// Puts the embeddings of this rank's rows, and those of the other ranks', at the places of their rows.
Status TaskRun::gather_embeddings(const TakenRows& all) {
  JointStep& j = *joint_;
  const size_t rows = all.rows.rows.size();
  j.embeddings.assign(rows * j.width, 0.0f);
  const auto put = [&](std::span<const int64_t> places, const float* from) {
    for (size_t i = 0; i < places.size(); ++i)
      std::copy_n(from + i * j.width, j.width,
                  j.embeddings.begin() +
                      static_cast<std::ptrdiff_t>(static_cast<size_t>(places[i]) * j.width));
  };
  if (ranks().alone()) {
    put(j.places, j.own.data());
    return Ok{};
  }
  const std::vector<std::string> messages = HONE_TRY(ranks().gather_bytes(
      {reinterpret_cast<const char*>(j.own.data()), j.own.size() * sizeof(float)}));
  std::vector<int64_t> places;
  std::vector<float> values;
  Share share = ranks().share();
  for (share.rank = 0; share.rank < share.ranks; ++share.rank) {
    places.clear();
    add_rows_of_rank(std::span(j.all_places).first(rows), s_.batch_rows(), share, places);
    const std::string& message = messages[static_cast<size_t>(share.rank)];
    HONE_BUG_IF(message.size() != places.size() * j.width * sizeof(float),
                "rank {} has sent {} bytes for {} rows", share.rank, message.size(), places.size());
    values.resize(places.size() * j.width);
    std::memcpy(values.data(), message.data(), message.size());
    put(places, values.data());
  }
  return Ok{};
}

Result<double> TaskRun::run_joint(const TakenRows& all, const TakenRows& mine, int64_t step,
                                  float scale) {
  JointStep& j = *joint_;
  const size_t rows = all.rows.rows.size();
  j.places.clear();
  const auto first = std::span(std::as_const(j.all_places)).first(rows);
  if (ranks().alone())
    j.places.assign(first.begin(), first.end());
  else
    add_rows_of_rank(first, s_.batch_rows(), ranks().share(), j.places);
  j.own.assign(mine.rows.rows.size() * j.width, 0.0f);
  for (const MicroBatchPlan& batch : plan_.batches) {
    BoundProgram& program = j.embed[batch.shape];
    const CollatedRows taken = rows_of(mine, batch, step);
    const bool more = HONE_TRY(examples_.collate(taken, program.inputs));
    HONE_BUG_IF(more, "step {} has labels that do not fit its program", step);
    run_micro_batch(program, step, scale);
    const auto out = session_->output<float>(program.index, "embeddings");
    for (size_t q = 0; q < batch.rows.size(); ++q)
      std::copy_n(out.begin() + static_cast<std::ptrdiff_t>(q * j.width), j.width,
                  j.own.begin() +
                      static_cast<std::ptrdiff_t>(static_cast<size_t>(batch.rows[q]) * j.width));
  }
  HONE_TRY(gather_embeddings(all));

  const auto to = j.loss.inputs.get<float>("embeddings");
  std::fill(std::copy(j.embeddings.begin(), j.embeddings.end(), to.begin()), to.end(), 0.0f);
  examples_.collate_joint({*all.data, all.rows, step}, j.loss.inputs);
  j.loss.inputs.get<float>("scale")[0] = scale;
  session_->run(j.loss.index);
  const auto gradient = session_->output<float>(j.loss.index, "gradient");
  j.gradient.assign(gradient.begin(),
                    gradient.begin() + static_cast<std::ptrdiff_t>(rows * j.width));
  return loss_of(j.loss);
}

void TaskRun::put_gradient(const MicroBatchPlan& batch, BoundProgram& program) const {
  const JointStep& j = *joint_;
  const auto to = program.inputs.get<float>("gradient");
  auto at = to.begin();
  for (const int32_t row : batch.rows) {
    const auto place = static_cast<size_t>(j.places[static_cast<size_t>(row)]);
    at =
        std::copy_n(j.gradient.begin() + static_cast<std::ptrdiff_t>(place * j.width), j.width, at);
  }
  std::fill(at, to.end(), 0.0f);
}

}  // namespace hone
