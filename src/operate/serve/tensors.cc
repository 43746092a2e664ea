#include "operate/serve/tensors.h"

#include <algorithm>
#include <cmath>

#include "operate/serve/protocol/errors.h"
#include "operate/serve/protocol/json_body.h"
#include "operate/serve/text_instance.h"
#include "operate/serve/token_answers.h"

namespace hone {

std::string input_name_of(const ServedModel& model) {
  return model.task() == ServedTask::image_classification ? "image" : "text_input";
}

std::vector<TensorForm> outputs_of(const ServedModel& model) {
  if (writes_text(model.task())) return {{"text_output", "BYTES"}};
  if (model.task() == ServedTask::token_classification) return {{"entities", "BYTES"}};
  if (model.task() == ServedTask::question_answering)
    return {{"answer", "BYTES"}, {"score", "FP32"}};
  if (const int64_t width = model.embedding_width(); width > 0)
    return {{"embedding", "FP32", width}};
  return {{"label", "BYTES"}, {"score", "FP32"}};
}

OrderedJson triton_config(const ServedModel& model) {
  const auto entry = [](const TensorForm& t) {
    return OrderedJson{{"name", t.name},
                       {"data_type", t.datatype == "BYTES" ? "TYPE_STRING" : "TYPE_" + t.datatype},
                       {"dims", {t.width}}};
  };
  OrderedJson outputs = OrderedJson::array();
  for (const TensorForm& t : outputs_of(model)) outputs.push_back(entry(t));
  return {{"name", model.name()},
          {"platform", "hone"},
          {"backend", "hone"},
          {"version_policy", {{"latest", {{"num_versions", 1}}}}},
          {"max_batch_size", model.load().rows},
          {"input", OrderedJson::array({entry({input_name_of(model), "BYTES"})})},
          {"output", outputs}};
}

OrderedJson triton_statistics(const ServedModel& model) {
  const auto time = [](const CountedTime& t) {
    return OrderedJson{{"count", t.count}, {"ns", std::llround(t.seconds * 1e9)}};
  };
  const ModelStatistics::Reading s = model.statistics().read();
  OrderedJson batches = OrderedJson::array();
  for (const auto& [sequences, b] : s.batches)
    batches.push_back({{"batch_size", sequences},
                       {"compute_input", time(b.input)},
                       {"compute_infer", time(b.infer)},
                       {"compute_output", time(b.output)}});
  const auto part = [&](ModelStatistics::Part p) { return time(s.parts[p]); };
  return {{"name", model.name()},
          {"version", model.version()},
          {"last_inference", std::llround(s.last_ended * 1000)},
          {"inference_count", s.texts},
          {"execution_count", s.executions},
          {"inference_stats",
           {{"success", part(ModelStatistics::success)},
            {"fail", part(ModelStatistics::fail)},
            {"queue", part(ModelStatistics::queue)},
            {"compute_input", part(ModelStatistics::compute_input)},
            {"compute_infer", part(ModelStatistics::compute_infer)},
            {"compute_output", part(ModelStatistics::compute_output)},
            {"cache_hit", time({})},
            {"cache_miss", time({})}}},
          {"batch_stats", batches}};
}

Result<std::vector<TextQuery>> queries_of(const ServedModel& model, const InferTensor& text,
                                          Json settings, Deadline deadline) {
  HONE_TRY(check_text_count(text.texts.size()));
  const auto shared = std::make_shared<const Json>(std::move(settings));
  std::vector<TextQuery> queries;
  const bool images = model.task() == ServedTask::image_classification;
  for (const std::string& t : text.texts) {
    if (model.task() == ServedTask::question_answering) {
      Json instance;
      if (parse_json(t, {}, instance) || !instance.is_object())
        return Error(err::kServeRequest, "a text of text_input is not a JSON object")
            .todo(R"(give a text such as "{\"question\": \"...\", \"context\": \"...\"}")");
      queries.push_back(HONE_TRY(question_of(instance)));
      queries.back().settings = shared;
      queries.back().deadline = deadline;
      continue;
    }
    queries.push_back(images ? TextQuery{} : HONE_TRY(query_of_tensor(model, t)));
    queries.back().settings = shared;
    queries.back().deadline = deadline;
    if (images) queries.back().image = HONE_TRY(image_bytes_of(t));
  }
  return queries;
}

Result<std::vector<InferTensor>> tensors_of(const ServedModel& model,
                                            const std::vector<TextAnswer>& answers,
                                            const std::vector<std::string>& wanted,
                                            const std::vector<int64_t>& shape) {
  std::vector<InferTensor> all;
  for (const TensorForm& form : outputs_of(model)) {
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), form.name) == wanted.end())
      continue;
    InferTensor t{form.name, form.datatype, shape};
    if (form.name == "embedding") t.shape.push_back(form.width);
    for (const TextAnswer& a : answers) {
      if (form.name == "text_output")
        t.texts.push_back(a.texts[0].text);
      else if (form.name == "label")
        t.texts.push_back(a.labels[0][0].label);
      else if (form.name == "entities")
        t.texts.push_back(dump_json(entities_json(a)));
      else if (form.name == "answer")
        t.texts.push_back(a.answers[0].text);
      else if (!a.answers.empty())
        t.floats.push_back(static_cast<float>(a.answers[0].score));
      else if (form.name == "embedding")
        t.floats.insert(t.floats.end(), a.embedding.begin(), a.embedding.end());
      else
        t.floats.push_back(static_cast<float>(a.labels[0][0].score));
    }
    all.push_back(std::move(t));
  }
  for (const std::string& name : wanted)
    if (std::none_of(all.begin(), all.end(), [&](const InferTensor& t) { return t.name == name; }))
      return Error(err::kServeRequest, fmt::format("the model has no output '{}'", name))
          .todo("ask for its metadata: GET /v2/models/" + model.name());
  return all;
}

void infer(const ModelSet::Model& model, const TensorRequest& request, Deadline deadline,
           WebClient& client, std::function<void(Result<TensorAnswer>)> done) {
  const Result<const InferTensor*> text = texts_among(request.inputs);
  if (!text.ok()) return done(text.error());
  Result<std::vector<TextQuery>> queries = queries_of(*model, **text, request.settings, deadline);
  if (!queries.ok()) return done(queries.error());
  ask_all(client, model, std::move(*queries),
          [model, id = request.id, wanted = request.wanted, shape = (*text)->shape,
           done = std::move(done)](Result<std::vector<TextAnswer>> all) {
            if (!all.ok()) return done(std::move(all.error()));
            Result<std::vector<InferTensor>> outputs = tensors_of(*model, *all, wanted, shape);
            if (!outputs.ok()) return done(std::move(outputs.error()));
            done(TensorAnswer{model->name(), model->version(), id, std::move(*outputs)});
          });
}

}  // namespace hone
