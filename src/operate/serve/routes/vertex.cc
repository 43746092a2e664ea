// Vertex AI's predict: POST .../endpoints/{id}:predict {"instances", "parameters"}; in a custom
// container only the predictions, under AIP_PREDICT_ROUTE. KServe's v1 is the same with the model
// in the path.
//   https://cloud.google.com/vertex-ai/docs/predictions/custom-container-requirements
//   https://kserve.github.io/website/latest/modelserving/data_plane/v1_protocol/
#include "base/core/hash.h"
#include "operate/serve/errors.h"
#include "operate/serve/route.h"

namespace hone {
namespace {

// Keys of an instance that hold its text, in Vertex's and Hugging Face's names.
constexpr const char* kTextKeys[] = {"text",   "prompt",     "content",
                                     "inputs", "text_input", "instance"};

Error bad_instance(size_t i, const std::string& what) {
  return Error(err::kServeRequest, what)
      .at(fmt::format("instances[{}]", i))
      .todo("give a text, or an object such as {\"text\": \"...\"}");
}

Result<TextQuery> query_of(const Json& instance, size_t i) {
  TextQuery q;
  if (instance.is_string()) {
    q.text = instance.get<std::string>();
    return q;
  }
  if (!instance.is_object()) return bad_instance(i, "an instance is neither a text nor an object");
  for (const char* key : kTextKeys)
    if (const auto it = instance.find(key); it != instance.end() && it->is_string()) {
      q.text = it->get<std::string>();
      if (const auto pair = instance.find("text_pair"); pair != instance.end()) {
        if (!pair->is_string()) return bad_instance(i, "text_pair is not a text");
        q.pair = pair->get<std::string>();
      }
      return q;
    }
  return bad_instance(i, "the instance has no text");
}

// Vertex's names of settings, besides the names of generation_config.json. A temperature turns on
// sampling, 0 turns it off.
Json settings_of(const Json& parameters, ServedTask task) {
  if (!parameters.is_object()) return parameters;
  constexpr std::pair<const char*, const char*> kNames[] = {
      {"maxOutputTokens", "max_new_tokens"},
      {"maxDecodeSteps", "max_new_tokens"},
      {"max_tokens", "max_new_tokens"},
      {"topK", "top_k"},
      {"topP", "top_p"},
      {"stopSequences", "stop_strings"},
      {"stop", "stop_strings"},
      {"candidateCount", "num_return_sequences"}};
  Json out = Json::object();
  for (const auto& [key, value] : parameters.items()) {
    std::string name = key;
    for (const auto& [theirs, ours] : kNames)
      if (key == theirs) name = ours;
    out[name] = value;
  }
  const bool writes = task == ServedTask::generation || task == ServedTask::text2text;
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
  if (task == ServedTask::generation || task == ServedTask::text2text) {
    if (a.texts.size() == 1) return a.texts[0].text;
    OrderedJson all = OrderedJson::array();
    for (const Written& w : a.texts) all.push_back(w.text);
    return all;
  }
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
  const int status = status_of(e);
  if (form != Form::vertex) {
    WebAnswer a = web_error(status, line_of(e));
    a.headers = headers_of(e);
    return a;
  }
  const char* name = status == 404   ? "NOT_FOUND"
                     : status == 429 ? "RESOURCE_EXHAUSTED"
                     : status == 503 ? "UNAVAILABLE"
                     : status == 504 ? "DEADLINE_EXCEEDED"
                     : status == 500 ? "INTERNAL"
                                     : "INVALID_ARGUMENT";
  const OrderedJson body{{"error", {{"code", status}, {"message", line_of(e)}, {"status", name}}}};
  return {status, dump_json(body, {.indent = 2}) + "\n", "application/json", headers_of(e)};
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
        .todo("send {\"instances\": [\"a text\"]}");
  for (const auto& [key, value] : body.items())
    if (key != "instances" && key != "parameters" && key != "signature_name")
      return Error(err::kServeRequest, fmt::format("there is no key '{}'", key))
          .todo("send {\"instances\": [...], \"parameters\": {...}}");
  HONE_TRY(check_text_count(instances->size()));
  const auto settings =
      std::make_shared<const Json>(settings_of(body.value("parameters", Json()), model->task()));
  std::vector<TextQuery> queries;
  for (size_t i = 0; i < instances->size(); ++i) {
    queries.push_back(HONE_TRY(query_of((*instances)[i], i)));
    queries.back().settings = settings;
    queries.back().deadline = call.server.deadline();
  }
  ask_all(call, model, std::move(queries),
          [reply = call.reply, model, form, parent](Result<std::vector<TextAnswer>> all) {
            if (!all.ok()) return reply->send(error_answer(all.error(), form));
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

bool answer(RouteCall& call, const std::string& name, const std::string& version, Form form,
            const std::string& parent = "") {
  if (!call.post()) {
    call.reply->send(
        {405, web_error(405, "only POST").body, "application/json", {{"Allow", "POST"}}});
    return true;
  }
  const Status s = predict(call, name, version, form, parent);
  if (!s.ok()) call.reply->send(error_answer(s.error(), form));
  return true;
}

bool cut_end(std::string& text, std::string_view end) {
  if (!text.ends_with(end)) return false;
  text.resize(text.size() - end.size());
  return true;
}

bool handle_vertex(RouteCall& call) {
  const auto& p = call.parts;
  if (!call.server.predict_route.empty() && call.request.path == call.server.predict_route)
    return answer(call, "", "", Form::container);
  // v1/projects/{p}/locations/{l}/endpoints/{e}:predict
  if (p.size() == 7 && (p[0] == "v1" || p[0] == "v1beta1") && p[1] == "projects" &&
      p[3] == "locations" && p[5] == "endpoints") {
    std::string endpoint = p[6];
    if (!cut_end(endpoint, ":predict")) return false;
    const std::string parent = fmt::format("projects/{}/locations/{}", p[2], p[4]);
    // An id, or a model's name.
    const auto names = call.server.models.names();
    const bool named = std::find(names.begin(), names.end(), endpoint) != names.end();
    if (!named && endpoint != call.server.endpoint) {
      call.reply->send(error_answer(
          Error(err::kServeNoModel, fmt::format("no endpoint is called '{}'", endpoint))
              .todo("this server is the endpoint " + call.server.endpoint),
          Form::vertex));
      return true;
    }
    return answer(call, named ? endpoint : "", "", Form::vertex, parent);
  }
  // v1/models/{m}[/versions/{v}]:predict
  if ((p.size() == 3 || (p.size() == 5 && p[3] == "versions")) && p[0] == "v1" &&
      p[1] == "models") {
    std::string last = p.back();
    if (!cut_end(last, ":predict")) return false;
    return p.size() == 3 ? answer(call, last, "", Form::kserve)
                         : answer(call, p[2], last, Form::kserve);
  }
  return false;
}

}  // namespace

Route serve_route_vertex() { return {"predict", handle_vertex}; }

}  // namespace hone
