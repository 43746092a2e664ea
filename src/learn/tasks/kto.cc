// Tuning on single answers that are wanted or not (trl kto): KTO (arXiv 2402.01306, equation 7) and its
// variant without the mean distance (arXiv 2408.06266).
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/core/log.h"
#include "base/settings/errors.h"
#include "base/store/store.h"
#include "learn/harness/collate.h"
#include "learn/harness/errors.h"
#include "learn/models/router_loss.h"
#include "learn/preference/preference_loss.h"
#include "learn/tasks/preference_data.h"
#include "learn/tasks/preference_parts.h"
#include "learn/tasks/reference_model.h"
#include "learn/tasks/row_outputs.h"

namespace hone {
namespace {

struct KtoSettings : PreferenceSettings {
#define HONE_SETTINGS "learn/tasks/kto_settings.def"
#include "base/settings/fields.inc"
  void bind_own(Schema& schema) { PreferenceSettings::bind(schema), bind(schema); }
  bool measures_distance() const { return loss_type == "kto"; }
};

PreferenceForm kto_form(const std::shared_ptr<KtoSettings>& s) {
  return {PreferenceForm::Rows::labels, true, "kto", [s] { return schema_of(*s); }};
}

// Inputs beside those of token_graph.h: answers i32[T] of collate_answers; f32[S]: reference, its
// log-probabilities; distance, the mean distance of the batch; sign, 1 of a wanted answer and -1 of
// others; share, the factor of its loss, 0 for no row. The loss of a row is
//   share (1 - sigmoid(beta sign (logps - reference - distance))).
// Outputs: logps f32[S], correct i32[T].
Program kto_program(const KtoSettings& s, const ModelConfig& given, const BatchShape& shape,
                    const std::string& name, bool train) {
  const ModelConfig config = s.disable_dropout ? without_any_dropout(given) : given;
  const int64_t rows = shape[kSequences], tokens = shape[kTokens];
  TokenGraph g(config, shape, name, train, {DType::i32, {tokens}});
  Builder& b = g.b;
  const AnswerScores scores =
      answer_scores(g, g.program.add_input("answers", {DType::i32, {tokens}}));
  if (train) {
    const auto input = [&](const char* what) {
      return g.program.add_input(what, {DType::f32, {rows}});
    };
    const ValueId reference = input("reference"), distance = input("distance"),
                  sign = input("sign"), share = input("share");
    Builder::Scope head(b, "preference");
    const PreferenceOptions options{.beta = s.beta};
    const PreferencePairs p{.b = b, .o = options};
    const ValueId ratio = ops::sub(b, ops::sub(b, scores.logps, reference), distance);
    const ValueId won = p.sigmoid(p.times_beta(ops::mul(b, ratio, sign)));
    const ValueId losses = ops::mul(b, p.plus(p.times(won, -1), 1), share);
    g.program.outputs.push_back({"loss", ops::mul(b, ops::reduce_sum(b, losses, {0}), g.scale)});
  }
  g.program.outputs.push_back({"logps", scores.logps});
  g.program.outputs.push_back({"correct", scores.correct});
  return std::move(g.program);
}

// Data of the rows besides tokens. Rows of evaluation: those to evaluate, the training rows, and for
// each of both a row with the answer of another one, whose distance to the reference is measured.
struct KtoRows {
  std::shared_ptr<const KtoSettings> s;
  const ModelConfig& config;
  RowLabels train = {}, eval = {};
  int64_t evaluated = 0, own = 0;     // the first, and those without the measured ones
  std::vector<float> reference = {};  // log-probabilities by row of evaluation
  std::vector<float> distance = {};   // of the row's batch, by row without the measured ones

  size_t number(bool training, int64_t row) const {
    return static_cast<size_t>(training ? evaluated + row : row);
  }
  const RowLabels& labels(bool training) const { return training ? train : eval; }
  bool wanted(bool training, int64_t row) const {
    return labels(training).classes[static_cast<size_t>(row)] != 0;
  }
  double share(bool is_wanted) const {
    return is_wanted ? s->desirable_weight : s->undesirable_weight;
  }
  // The loss of a row by the log-probability of its answer.
  double loss(bool training, int64_t row, double logp) const {
    const size_t n = number(training, row);
    const bool is_wanted = wanted(training, row);
    const double ratio = logp - static_cast<double>(reference[n]),
                 apart = static_cast<double>(distance[n]);
    return share(is_wanted) *
           (1 - std::exp(log_sigmoid(s->beta * (is_wanted ? 1 : -1) * (ratio - apart))));
  }

  Result<bool> collate(const CollatedRows& rows, Batch& to) const {
    HONE_TRY(collate_answers(rows.data.axes[0], labels(rows.training()), rows.rows, false, -1, to));
    HONE_TRY(finish_tokens(config, to));
    const auto reference_of = to.get_if<float>("reference"), at = to.get_if<float>("distance"),
               sign = to.get_if<float>("sign"), share_of = to.get_if<float>("share");
    if (reference_of.empty()) return false;
    for (const auto& list : {reference_of, at, sign, share_of})
      std::fill(list.begin(), list.end(), 0.0f);
    for (size_t i = 0; i < rows.rows.rows.size(); ++i) {
      const int64_t row = rows.rows.rows[i];
      const size_t n = number(rows.training(), row);
      const bool is_wanted = wanted(rows.training(), row);
      reference_of[i] = reference[n];
      at[i] = distance[n];
      sign[i] = is_wanted ? 1.0f : -1.0f;
      share_of[i] = static_cast<float>(share(is_wanted));
    }
    return false;
  }

  // Measures the distance of each batch of these rows, as the weights are. False: a stop was requested.
  Result<bool> measure(TaskRun& run, std::span<const int64_t> rows, int64_t batch) {
    if (!s->measures_distance()) return true;
    std::vector<int64_t> measured(rows.begin(), rows.end());
    for (int64_t& row : measured) row += own;
    RowOutputs policy({"logps"}, {.rows = std::ssize(reference)});
    if (HONE_TRY(run.evaluate_rows(measured, policy)) < 0) return false;
    for (size_t at = 0; at < rows.size(); at += static_cast<size_t>(batch)) {
      const size_t end = std::min(rows.size(), at + static_cast<size_t>(batch));
      double sum = 0;
      for (size_t i = at; i < end; ++i) {
        const auto n = static_cast<size_t>(measured[i]);
        sum += static_cast<double>(policy.of("logps")[n]) - static_cast<double>(reference[n]);
      }
      const double mean = std::max(sum / static_cast<double>(end - at), 0.0);
      for (size_t i = at; i < end; ++i)
        distance[static_cast<size_t>(rows[i])] = static_cast<float>(mean);
    }
    return true;
  }
};

// Sums over rows, with TRL's names.
struct KtoSums {
  double loss = 0, rows = 0, distance = 0;
  struct Kind {
    double rows = 0, rewards = 0, logps = 0;
  } chosen, rejected;

  // False: an output is not finite. `examples`: gets the scores of each row; null: none.
  bool add(const KtoRows& of, const CollatedRows& rows, const Batch& outputs,
           ExampleScores* examples = nullptr) {
    const auto logps = outputs.get<const float>("logps");
    for (size_t i = 0; i < rows.rows.rows.size(); ++i) {
      const int64_t row = rows.rows.rows[i];
      const size_t n = of.number(rows.training(), row);
      const double logp = static_cast<double>(logps[i]);
      if (!std::isfinite(logp)) return false;
      const bool is_wanted = of.wanted(rows.training(), row);
      const double ratio = logp - static_cast<double>(of.reference[n]),
                   apart = static_cast<double>(of.distance[n]),
                   of_row = of.loss(rows.training(), row, logp);
      if (examples) examples->add(row, {{"scores", {{"loss", of_row}}}});
      loss += of_row;
      this->rows += 1;
      distance += apart;
      Kind& kind = is_wanted ? chosen : rejected;
      kind.rows += 1, kind.rewards += of.s->beta * ratio, kind.logps += logp;
    }
    return true;
  }
  std::vector<double> list() const {
    return {rows,         distance,      chosen.rows,      chosen.rewards,
            chosen.logps, rejected.rows, rejected.rewards, rejected.logps};
  }
  static OrderedJson values(std::span<const double> sums) {
    OrderedJson out{{"kl", sums[1] / std::max(sums[0], 1.0)}};
    const auto add = [&](const char* kind, std::span<const double> of) {
      if (of[0] == 0) return;
      out[fmt::format("rewards/{}", kind)] = of[1] / of[0];
      out[fmt::format("logps/{}", kind)] = of[2] / of[0];
    };
    add("chosen", sums.subspan(2, 3));
    add("rejected", sums.subspan(5, 3));
    if (sums[2] > 0 && sums[5] > 0) out["rewards/margins"] = sums[3] / sums[2] - sums[6] / sums[5];
    return out;
  }
};

class KtoEvaluation final : public EvalMetrics {
 public:
  explicit KtoEvaluation(std::shared_ptr<const KtoRows> rows) : rows_(std::move(rows)) {}
  bool add(const CollatedRows& rows, const Batch& outputs) override {
    return sums_.add(*rows_, rows, outputs, rows_->s->example_scores.get());
  }
  double loss() const override { return sums_.loss / std::max(sums_.rows, 1.0); }
  OrderedJson values(int64_t rows) const override {
    OrderedJson out{{"loss", loss()}};
    out.update(KtoSums::values(sums_.list()));
    out["samples"] = rows;
    return out;
  }

 private:
  std::shared_ptr<const KtoRows> rows_;
  KtoSums sums_;
};

Result<OrderedJson> evaluate_kto(const std::shared_ptr<KtoRows>& rows, TaskRun& run) {
  std::vector<int64_t> all(static_cast<size_t>(rows->evaluated));
  std::iota(all.begin(), all.end(), 0);
  if (!HONE_TRY(rows->measure(run, all, rows->s->per_device_eval_batch_size)))
    return OrderedJson::object();
  KtoEvaluation evaluation(rows);
  const int64_t count = HONE_TRY(run.evaluate_rows(0, rows->evaluated, evaluation));
  return count < 0 ? OrderedJson::object() : evaluation.values(count);
}

Status find_kto_reference(KtoRows& rows, TaskRun& run) {
  RowOutputs reference({"logps"}, {.rows = std::ssize(rows.reference)});
  const std::string& name = rows.s->ref_model_name_or_path;
  if (name.empty() && !rows.s->do_train)
    log_warning("the model is its own reference: --ref_model_name_or_path names another");
  if (HONE_TRY(evaluate_reference(run, name, 0, std::ssize(rows.reference), reference)))
    rows.reference = reference.of("logps");
  return Ok{};
}

// A row for each of the split: its prompt with the answer before it in its batch, the first with the
// last answer of the batch.
void add_measured(const PreferenceSplit& split, int64_t batch, int64_t most, LabelledRows& to) {
  const std::vector<EncodedAnswer>& all = split.whole;
  const auto n = static_cast<size_t>(batch);
  for (size_t i = 0; i < all.size(); ++i) {
    const size_t first = i / n * n, last = std::min(first + n, all.size()) - 1;
    const EncodedAnswer& other = all[i == first ? last : i - 1];
    EncodedAnswer row = all[i];
    row.ids.resize(static_cast<size_t>(row.prompt));
    row.labels.assign(row.ids.size(), kIgnoreLabel);
    row.ids.insert(row.ids.end(), other.ids.begin() + other.prompt, other.ids.end());
    row.labels.insert(row.labels.end(), other.labels.begin() + other.prompt, other.labels.end());
    row.cut(most);
    to.rows.add(row.ids);
    to.labels.tags.insert(to.labels.tags.end(), row.labels.begin(), row.labels.end());
    to.labels.classes.push_back(0);
  }
}

Result<Examples> kto_examples(const std::shared_ptr<KtoSettings>& s, Pretrained& model,
                              const ExampleSource& source) {
  HONE_TRY(refuse_given_rows(source));
  PreferenceData data = HONE_TRY(read_preferences(*s, kto_form(s), model, source.pool));
  show_notes(schema_of(*s), data.notes);
  const auto rows = std::make_shared<KtoRows>(KtoRows{s, model.config});
  Examples x;
  std::optional<LabelledRows> eval(std::in_place), train;
  if (data.eval) eval->append(data.eval->data, 0, data.eval->data.size());
  x.evaluated = rows->evaluated = eval->size();
  if (data.train) {
    train = data.train->data;
    x.hash = train->hash();
    eval->append(*train, 0, train->size());
  }
  rows->own = eval->size();
  if (s->measures_distance())
    for (const std::optional<PreferenceSplit>* split : {&data.eval, &data.train})
      if (*split)
        add_measured(**split, s->per_device_train_batch_size, s->row_tokens(model.config), *eval);
  rows->reference.resize(static_cast<size_t>(eval->size()));
  rows->distance.resize(static_cast<size_t>(rows->own));
  rows->train = take_rows(train, x.train);
  rows->eval = take_rows(eval, x.eval);
  x.train_rows_read = data.train_rows;
  x.collate = [rows](const CollatedRows& batch, Batch& to) { return rows->collate(batch, to); };
  x.normaliser = [](int64_t, const StepPlan& plan, const auto&, const auto&) { return plan.rows; };
  x.metrics = [rows](int64_t) { return std::make_unique<KtoEvaluation>(rows); };
  x.evaluate = [rows](TaskRun& run) { return evaluate_kto(rows, run); };
  x.opened = [rows](TaskRun& run) { return find_kto_reference(*rows, run); };
  x.before_step = [rows](TaskRun& run, int64_t, const BatchRows& step) -> Status {
    std::vector<int64_t> numbers;
    for (const int64_t row : step.rows) numbers.push_back(rows->evaluated + row);
    HONE_TRY(rows->measure(run, numbers, rows->s->batch_rows()));
    return Ok{};
  };
  const auto sums = std::make_shared<KtoSums>();
  x.after_batch = [rows, sums](const CollatedRows& batch, const Batch& outputs) {
    sums->add(*rows, batch, outputs);
  };
  x.log_sums = [sums] { return std::exchange(*sums, {}).list(); };
  x.log_values = KtoSums::values;
  if (!data.chat_template.empty())
    x.saved = [text = data.chat_template](const std::string& folder) {
      return file_store().write(folder + "/chat_template.jinja", text);
    };
  return x;
}

}  // namespace

Task task_kto() {
  const auto s = std::make_shared<KtoSettings>();
  s->learning_rate = 1e-6;  // as TRL's
  s->train_sampling_strategy = "sequential";
  Task t;
  t.name = "kto";
  t.summary = "preference tuning on single answers that are wanted or not";
  t.metrics = [] { return std::vector<std::string>{"loss"}; };  // a row is wanted or not
  t.sample = SampleProject{
      .model = tiny_decoder(kChatModelOfHub),
      .row = [](int i) -> OrderedJson {
        const SampleSentence one = sample_sentence(i);
        const bool wanted = i % 2 == 0;
        return {
            {"prompt", one.prompt()},
            {"completion", wanted ? one.answer() : fmt::format(" The weather is {}.", one.weather)},
            {"label", wanted}};
      },
      .flags = {{"max_length", 128}}};
  t.settings = s;
  t.bind = [s](Schema& schema) { s->bind_own(schema); };
  t.settle = [s](const Schema&) -> Status {
    if (s->beta > 0) return Ok{};
    return Error(err::kSettingBounds, "beta is not positive")
        .at("--beta")
        .todo("give a value such as 0.1");
  };
  t.choose_head = [s](ModelConfig& config) -> Status {
    if (s->streaming)
      return Error(err::kStreaming, "preference tuning reads its rows into memory")
          .todo("leave --streaming out");
    HONE_TRY(refuse_router_loss(config, "kto"));
    return set_head(config, Head::causal_lm);
  };
  t.form = [s](const Pretrained& model) -> Result<RunForm> {
    return RunForm{.limits = {{kTokens, s->row_tokens(model.config), "max_length", s->max_length}}};
  };
  t.program = [s](const auto&... a) { return kto_program(*s, a...); };
  t.examples = [s](Pretrained& model, const ExampleSource& source) {
    return kto_examples(s, model, source);
  };
  t.prepared = preference_source(s, kto_form(s));
  t.check_rows = [s](const CheckRequest& request, Findings& findings) {
    return check_preferences(*s, kto_form(s), request, findings);
  };
  return t;
}

}  // namespace hone
