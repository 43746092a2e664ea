#include "learn/tasks/classification.h"

#include <algorithm>
#include <cmath>

#include "base/core/log.h"
#include "base/store/store.h"
#include "learn/tasks/classification_data.h"
#include "learn/tasks/task.h"
#include "learn/tasks/token_graph.h"
#include "learn/train/errors.h"

namespace hone {
namespace {

bool is_regression(const ModelConfig& config) { return config.labels == 1; }

bool has_token_types(const ModelConfig& config) {
  const auto types = config.integer("type_vocab_size", 0);
  return types.ok() && *types > 1;
}

}  // namespace

ClassificationTask::ClassificationTask(const ClassificationSettings& s) : TokenTask(s), s_(s) {}

Status ClassificationTask::read_data() {
  ClassificationData data = HONE_TRY(read_classification(s_, model_, pool()));
  for (const std::string& note : data.notes) log_info("{:<11} {}", "data", note);
  HONE_TRY(set_labels(model_.config, data.map, s_.task_name));
  matched_ = data.matched, mismatched_ = data.mismatched;
  test_ = data.test, test_mismatched_ = data.test_mismatched;
  labelled_rows_ = data.train_rows_labelled;
  std::unique_ptr<TokenRows> train, eval;
  uint64_t hash = 0;
  if (data.train) {
    hash = data.train->hash();
    train = std::make_unique<TokenRows>(std::move(data.train->rows));
    train_labels_ = std::move(data.train->labels);
  }
  if (data.eval) {
    eval = std::make_unique<TokenRows>(std::move(data.eval->rows));
    eval_labels_ = std::move(data.eval->labels);
  }
  return feed().set_rows(std::move(train), std::move(eval), hash);
}

void ClassificationTask::reserve(const RunShapes& shapes) {
  if (!shapes.train.budgets.empty()) reserve_label_inputs(shapes.train, inputs_);
}

bool ClassificationTask::put(size_t program, const MicroBatch& batch, int64_t) {
  const bool train = session().has_input(program, "scale");
  fill_label_inputs(train ? *feed().train() : *feed().eval(), train ? train_labels_ : eval_labels_,
                    batch, inputs_);
  if (session().has_input(program, "token_types"))
    put_input(program, "token_types", inputs_.token_types);
  if (!train) return false;
  if (!is_regression(model_.config)) {
    put_input(program, "labels", inputs_.classes);
    return false;
  }
  put_input(program, "labels", inputs_.values);
  put_input(program, "weight", inputs_.weight);
  return false;
}

void ClassificationTask::begin_metrics() {
  for (auto* m : {&metrics_, &mismatched_metrics_}) {
    auto made =
        ClassificationMetrics::make(s_.task_name, is_regression(model_.config),
                                    s_.per_device_eval_batch_size, s_.label_smoothing_factor);
    HONE_BUG_IF(!made.ok(), "{}", made.error().text());  // names of the shelf
    *m = std::move(*made);
  }
}

bool ClassificationTask::add_metrics(size_t program, const MicroBatch& batch) {
  const auto logits = session().output<float>(program, "logits");
  const auto labels = static_cast<size_t>(model_.config.labels);
  for (int64_t q = 0; q < batch.sequences; ++q) {
    const auto s = static_cast<size_t>(q);
    const int64_t row = batch.row_ids[s];
    const auto of_row = logits.subspan(s * labels, labels);
    if (!std::all_of(of_row.begin(), of_row.end(), [](float x) { return std::isfinite(x); }))
      return false;
    if (row >= matched_ + mismatched_) {
      predictions_[static_cast<size_t>(row - matched_ - mismatched_)] =
          labels == 1 ? of_row[0] : static_cast<float>(predicted_class(of_row));
      continue;
    }
    ClassificationMetrics& m = row < matched_ ? *metrics_ : *mismatched_metrics_;
    const int64_t number = row < matched_ ? row : row - matched_;
    if (is_regression(model_.config))
      m.add(number, of_row[0], inputs_.values[s]);
    else
      m.add(number, of_row, inputs_.classes[s]);
  }
  return true;
}

Result<OrderedJson> ClassificationTask::evaluate() {
  feed().evaluate_rows(0, matched_ + mismatched_);
  return TokenTask::evaluate();
}

Result<OrderedJson> ClassificationTask::predict(const std::string& folder) {
  const int64_t begin = matched_ + mismatched_;
  predictions_.resize(static_cast<size_t>(test_ + test_mismatched_));
  feed().evaluate_rows(begin, begin + test_ + test_mismatched_);
  const OrderedJson done = HONE_TRY(TokenTask::evaluate());
  if (done.empty()) return done;  // stopped
  const Json& names = model_.config.config["id2label"];
  const auto write = [&](const std::string& task, int64_t first, int64_t end) {
    std::string text = "index\tprediction\n";
    for (int64_t i = first; i < end; ++i) {
      const float x = predictions_[static_cast<size_t>(i)];
      text += is_regression(model_.config)
                  ? fmt::format("{}\t{:.3f}\n", i - first, x)
                  : fmt::format("{}\t{}\n", i - first,
                                names[std::to_string(static_cast<int64_t>(x))].get<std::string>());
    }
    const std::string file = fmt::format("{}/predict_results_{}.txt", folder, task);
    log_info("{:<11} {}", "predicted", file);
    return file_store().write(file, text);
  };
  HONE_TRY(write(s_.task_name.empty() ? "None" : s_.task_name, 0, test_));
  if (test_mismatched_ > 0) HONE_TRY(write(s_.task_name + "-mm", test_, test_ + test_mismatched_));
  return OrderedJson::object();
}

OrderedJson ClassificationTask::metrics(int64_t rows) {
  const auto values_of = [](const ClassificationMetrics& m, const char* suffix) {
    auto values = m.values(suffix);
    HONE_BUG_IF(!values.ok(), "{}", values.error().text());
    return std::move(*values);
  };
  if (metrics_->rows() == 0) return {{"samples", rows}};  // predicted, not evaluated
  OrderedJson out = values_of(*metrics_, "");
  out["samples"] = matched_;
  if (mismatched_ == 0) return out;
  const OrderedJson more = values_of(*mismatched_metrics_, "_mm");
  for (const auto& [name, value] : more.items()) out[name] = value;
  out["samples_mm"] = mismatched_;
  return out;
}

Status set_labels(ModelConfig& config, const LabelMap& map, const std::string& task_name) {
  Json &json = config.config, to_id = Json::object(), to_label = Json::object();
  std::vector<std::string> names = map.names;
  if (map.regression) names = {"LABEL_0"};
  for (size_t i = 0; i < names.size(); ++i) {
    to_id[names[i]] = i;
    to_label[std::to_string(i)] = names[i];
  }
  json["id2label"] = to_label;
  json["label2id"] = to_id;
  json["problem_type"] = map.regression ? "regression" : "single_label_classification";
  json.erase("num_labels");
  if (!task_name.empty()) json["finetuning_task"] = task_name;
  return set_head(config, Head::sequence_classification, static_cast<int64_t>(names.size()));
}

Status ClassificationSettings::choose_head(ModelConfig& config) const {
  if (streaming)
    return Error(err::kNoData, "classification reads its rows into memory")
        .todo("leave --streaming out");
  if (const GlueTask* task = glue())
    return set_labels(config, named_labels(task->names), task_name);
  return set_head(config, Head::sequence_classification, config_labels(config));
}

int64_t ClassificationSettings::row_tokens(const ModelConfig& config) const {
  return std::min(max_seq_length, config.max_positions);
}

Program ClassificationSettings::build(const ModelConfig& config, const BatchShape& shape,
                                      const std::string& name, bool train) const {
  const bool regression = is_regression(config);
  TokenGraph g(config, shape, name, train, {regression ? DType::f32 : DType::i32, {shape.slots}});
  if (has_token_types(config))
    g.model.token_types = g.program.add_input("token_types", {DType::i32, {shape.tokens}});
  const HeadLayer layer = model_head(g.model);
  Builder::Scope head(g.b, "head");
  const auto output = [&](const char* what, ValueId value) {
    g.program.outputs.push_back({what, value});
    return std::move(g.program);
  };
  if (train && !regression)
    return output("loss", ops::linear_cross_entropy(g.b, layer.x, layer.weight, g.labels, g.scale,
                                                    true, label_smoothing_factor, layer.bias)
                              .loss);
  const ValueId logits =
      ops::linear(g.b, layer.x, layer.weight, {.bias = layer.bias, .trans_w = true});  // [S,labels]
  if (!train) return output("logits", logits);
  const ValueId weight = g.program.add_input("weight", {DType::f32, {shape.slots}});
  const ValueId off =
      ops::mul(g.b, ops::sub(g.b, ops::reshape(g.b, logits, {shape.slots}), g.labels), weight);
  return output("loss", ops::mul(g.b, ops::reduce_sum(g.b, ops::mul(g.b, off, off), {0}), g.scale));
}

Result<std::unique_ptr<TokenTask>> ClassificationSettings::open(Pretrained model,
                                                                bool from_scratch) const {
  auto task = std::make_unique<ClassificationTask>(*this);
  HONE_TRY(task->start(std::move(model), from_scratch));
  return std::unique_ptr<TokenTask>(std::move(task));
}

Task task_classification() {
  return {.name = "classification",
          .summary = "labels or numbers for texts and pairs of texts",
          .settings = [] { return std::unique_ptr<TaskSettings>(new ClassificationSettings); }};
}

}  // namespace hone
