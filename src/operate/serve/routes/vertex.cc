// Vertex AI's predict: POST .../endpoints/{id}:predict {"instances", "parameters"}; in a custom
// container only the predictions, under AIP_PREDICT_ROUTE. KServe's v1 is the same with the model
// in the path.
//   https://cloud.google.com/vertex-ai/docs/predictions/custom-container-requirements
//   https://kserve.github.io/website/latest/modelserving/data_plane/v1_protocol/
#include "base/core/hash.h"
#include "operate/serve/error_shape.h"
#include "operate/serve/errors.h"
#include "operate/serve/example.h"
#include "operate/serve/protocol/errors.h"
#include "operate/serve/protocol/json_body.h"
#include "operate/serve/route.h"
#include "operate/serve/text_instance.h"
#include "operate/serve/token_answers.h"

namespace hone {
namespace {

// With its place among the instances.
Result<TextQuery> query_of(const ServedModel& model, const Json& instance, size_t i) {
  Result<TextQuery> q = query_of_instance(model, instance);
  if (!q.ok()) return std::move(q.error()).at(fmt::format("instances[{}]", i));
  return q;
}

// Keys of an instance that hold an image: TensorFlow Serving's and Vertex's names.
constexpr const char* kImageKeys[] = {"b64", "image_bytes", "image", "content"};

// {"b64": TEXT}, {"image_bytes": {"b64": TEXT}}, {"content": TEXT} or the text alone.
Result<TextQuery> image_query_of(const Json& instance, size_t i) {
  const Json* found = instance.is_string() ? &instance : nullptr;
  if (instance.is_object())
    for (const char* key : kImageKeys)
      if (const auto it = instance.find(key); it != instance.end() && !found) found = &*it;
  if (found && found->is_object() && found->contains("b64")) found = &(*found)["b64"];
  const auto wrong = [&](const std::string& what) {
    return Error(err::kServeRequest, what)
        .at(fmt::format("instances[{}]", i))
        .todo("give {\"b64\": \"...\"}: a JPEG, PNG or WebP file as base64");
  };
  if (!found || !found->is_string()) return wrong("the instance has no image");
  Result<std::string> bytes = image_bytes_of(found->get<std::string>());
  if (!bytes.ok()) return wrong(bytes.error().what());
  TextQuery q;
  q.image = std::move(*bytes);
  return q;
}

// Vertex's names of settings, besides the names of generation_config.json.
constexpr KeyName kNames[] = {{"maxOutputTokens", "max_new_tokens"},
                              {"maxDecodeSteps", "max_new_tokens"},
                              {"max_tokens", "max_new_tokens"},
                              {"topK", "top_k"},
                              {"topP", "top_p"},
                              {"stopSequences", "stop_strings"},
                              {"stop", "stop_strings"},
                              {"candidateCount", "num_return_sequences"},
                              {"presencePenalty", "presence_penalty"},
                              {"frequencyPenalty", "frequency_penalty"}};

// A temperature turns on sampling, 0 turns it off.
Json settings_of(const Json& parameters, ServedTask task) {
  if (!parameters.is_object()) return parameters;
  Json out = Json::object();
  for (const auto& [key, value] : parameters.items()) {
    std::string name = key;
    for (const auto& [theirs, ours] : kNames)
      if (key == theirs) name = ours;
    out[name] = value;
  }
  const bool writes = writes_text(task);
  if (const auto t = out.find("temperature"); writes && t != out.end() && t->is_number()) {
    if (!out.contains("do_sample")) out["do_sample"] = t->get<double>() > 0;
    if (t->get<double>() == 0) out.erase(t);
  }
  return out;
}

OrderedJson scored_json(const Scored& s, bool mask) {
  OrderedJson j{{"label", s.label}, {"score", s.score}};
  if (mask) j = {{"token_str", s.label}, {"token", s.token}, {"score", s.score}};
  return j;
}

OrderedJson prediction_of(const TextAnswer& a, ServedTask task) {
  if (writes_text(task)) {
    if (a.texts.size() == 1) return a.texts[0].text;
    OrderedJson all = OrderedJson::array();
    for (const Written& w : a.texts) all.push_back(w.text);
    return all;
  }
  if (task == ServedTask::token_classification) return entities_json(a);
  if (task == ServedTask::question_answering) return answers_json(a);
  if (task == ServedTask::embedding) return {{"embeddings", {{"values", a.embedding}}}};
  const bool mask = task == ServedTask::fill_mask;
  OrderedJson all = OrderedJson::array();
  for (const std::vector<Scored>& best : a.labels) {
    OrderedJson list = OrderedJson::array();
    for (const Scored& s : best) list.push_back(scored_json(s, mask));
    all.push_back(!mask && list.size() == 1 ? list[0] : list);
  }
  return all.size() == 1 ? all[0] : all;
}

enum class Form { vertex, container, kserve };

WebAnswer error_answer(const Error& e, Form form) {
  return shaped_error(form == Form::vertex ? ErrorShape::google : ErrorShape::plain, e);
}

// A numeric id from a text, the same each time.
std::string numeric_id(const std::string& text) {
  return std::to_string(fnv1a(text) % 9000000000000000000u + 1000000000000000000u);
}

Status predict(RouteCall& call, const std::string& name, const std::string& version, Form form,
               const std::string& parent) {
  const ModelSet::Model model = HONE_TRY(call.server.models.find(name, version));
  const Json body = HONE_TRY(json_object(call.request.body));
  const auto instances = body.find("instances");
  if (instances == body.end() || !instances->is_array())
    return Error(err::kServeRequest, "the body has no list \"instances\"")
        .todo("send " + dump_json(Json{{"instances", Json::array({example_instance(*model)})}}));
  HONE_TRY(check_keys(body, {"instances", "parameters", "signature_name"}));
  HONE_TRY(check_text_count(instances->size()));
  const auto settings =
      std::make_shared<const Json>(settings_of(body.value("parameters", Json()), model->task()));
  std::vector<TextQuery> queries;
  for (size_t i = 0; i < instances->size(); ++i) {
    queries.push_back(HONE_TRY(model->task() == ServedTask::image_classification
                                   ? image_query_of((*instances)[i], i)
                                   : query_of(*model, (*instances)[i], i)));
    queries.back().settings = settings;
    queries.back().deadline = call.server.deadline();
  }
  ask_all(*call.reply, model, std::move(queries),
          [reply = call.reply, model, form, parent,
           given = body.value("parameters", Json())](Result<std::vector<TextAnswer>> all) {
            if (!all.ok())
              return reply->send(error_answer(with_names_of(all.error(), given, kNames), form));
            OrderedJson out;
            out["predictions"] = OrderedJson::array();
            for (const TextAnswer& a : *all)
              out["predictions"].push_back(prediction_of(a, model->task()));
            if (form == Form::vertex) {
              const std::string id = numeric_id(model->name());
              out["deployedModelId"] = !model->deployed_id().empty()
                                           ? model->deployed_id()
                                           : numeric_id(model->name() + "@" + model->version());
              out["model"] = parent + "/models/" + id;
              out["modelDisplayName"] = model->name();
              out["modelVersionId"] = model->version();
            }
            reply->send({200, dump_json(out, {.indent = form == Form::vertex ? 2 : -1}) + "\n"});
          });
  return Ok{};
}

void answer_prediction(RouteCall& call, const std::string& name, Form form,
                       const std::string& parent = "") {
  const Status s = predict(call, name, call.part("version"), form, parent);
  if (!s.ok()) call.reply->send(error_answer(s.error(), form));
}

void predict_in_container(RouteCall& call) { answer_prediction(call, "", Form::container); }

void predict_by_model(RouteCall& call) {
  answer_prediction(call, call.part("model"), Form::kserve);
}

void predict_at_endpoint(RouteCall& call) {
  const std::string endpoint = call.part("endpoint");  // an id, or a model's name
  const auto names = call.server.models.names();
  const bool named = std::find(names.begin(), names.end(), endpoint) != names.end();
  if (!named && call.server.models.loading())
    return call.reply->send(error_answer(still_loading(), Form::vertex));
  if (!named && endpoint != call.server.endpoint)
    return call.reply->send(
        error_answer(Error(err::kServeNoModel, fmt::format("no endpoint is called '{}'", endpoint))
                         .todo("this server is the endpoint " + call.server.endpoint),
                     Form::vertex));
  answer_prediction(
      call, named ? endpoint : "", Form::vertex,
      fmt::format("projects/{}/locations/{}", call.part("project"), call.part("location")));
}

std::vector<Route> vertex_routes(const ServeContext& server) {
  const std::string at = "/projects/{project}/locations/{location}/endpoints/{endpoint}:predict";
  std::vector<Route> routes{
      {"POST", "v1" + at, predict_at_endpoint},
      {"POST", "v1beta1" + at, predict_at_endpoint},
      {"POST", "v1/models/{model}[/versions/{version}]:predict", predict_by_model}};
  if (!server.predict_route.empty())
    routes.insert(routes.begin(), {"POST", server.predict_route, predict_in_container});
  return routes;
}

}  // namespace

Api serve_api_vertex() { return {"predict", vertex_routes}; }

}  // namespace hone
