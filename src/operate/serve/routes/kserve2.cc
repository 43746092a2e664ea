// The Open Inference Protocol over HTTP (KServe v2), with Triton's extensions: binary tensors, generate,
// config, the repository of models.
//   https://github.com/triton-inference-server/server/tree/main/docs/protocol
#include <charconv>

#include "operate/serve/errors.h"
#include "operate/serve/tensors.h"

namespace hone {
namespace {

void refuse_v2(const std::shared_ptr<WebReply>& reply, const Error& e) {
  WebAnswer a = web_error(status_of(e), line_of(e));
  a.headers = headers_of(e);
  reply->send(std::move(a));
}
void send_json(const std::shared_ptr<WebReply>& reply, const OrderedJson& json) {
  reply->send({200, dump_json(json) + "\n"});
}

Error bad_v2(const std::string& what) { return Error(err::kServeRequest, what); }

struct InferRequest {
  std::string id;
  std::vector<InferTensor> inputs;
  std::vector<std::string> wanted;
  std::map<std::string, bool> binary;  // by output
  bool all_binary = false;
  Json settings = Json::object();
};

Status read_input(const Json& j, std::string_view& tail, InferRequest& r) {
  if (!j.is_object()) return bad_v2("an input is not an object");
  InferTensor t;
  t.name = text_at(j, "name");
  t.datatype = text_at(j, "datatype");
  const auto shape = j.find("shape");
  if (t.name.empty() || shape == j.end() || !shape->is_array())
    return bad_v2("an input has no name or no shape");
  for (const Json& d : *shape) {
    if (!d.is_number_integer())
      return bad_v2(fmt::format("the shape of {} is not a list of whole numbers", t.name));
    t.shape.push_back(d.get<int64_t>());
  }
  if (t.size() < 0 || static_cast<size_t>(t.size()) > kMostTexts)
    return bad_v2(fmt::format("the shape of {} has a negative size, or more than {} values", t.name,
                              kMostTexts));
  const Json parameters = j.value("parameters", Json::object());
  if (parameters.is_object() && parameters.contains("binary_data_size")) {
    const Json& size = parameters["binary_data_size"];
    if (!size.is_number_integer() || size.get<int64_t>() < 0 ||
        static_cast<uint64_t>(size.get<int64_t>()) > tail.size())
      return bad_v2(fmt::format("binary_data_size of {} is more than the body has", t.name));
    const std::string_view bytes = tail.substr(0, size.get<size_t>());
    tail.remove_prefix(bytes.size());
    if (t.datatype == "BYTES") t.texts = HONE_TRY(texts_of_bytes(bytes));
  } else {
    // Flattens nested lists.
    const std::function<Status(const Json&)> flatten = [&](const Json& data) -> Status {
      if (data.is_array()) {
        for (const Json& d : data) HONE_TRY(flatten(d));
        return Ok{};
      }
      if (t.datatype != "BYTES") return Ok{};
      if (!data.is_string()) return bad_v2(fmt::format("the data of {} are not texts", t.name));
      t.texts.push_back(data.get<std::string>());
      return Ok{};
    };
    HONE_TRY(flatten(j.value("data", Json::array())));
  }
  r.inputs.push_back(std::move(t));
  return Ok{};
}

Result<InferRequest> read_infer(const RouteCall& call) {
  std::string_view text = call.request.body, tail;
  if (const std::string_view length = call.request.header("inference-header-content-length");
      !length.empty()) {
    size_t n = 0;
    const auto [end, failed] = std::from_chars(length.data(), length.data() + length.size(), n);
    if (failed != std::errc() || end != length.data() + length.size() || n > text.size())
      return bad_v2("Inference-Header-Content-Length is not a length within the body");
    tail = text.substr(n);
    text = text.substr(0, n);
  }
  const Json json = HONE_TRY(json_object(text));
  InferRequest r;
  r.id = text_at(json, "id");
  const auto inputs = json.find("inputs");
  if (inputs == json.end() || !inputs->is_array()) return bad_v2("the body has no list \"inputs\"");
  for (const Json& i : *inputs) HONE_TRY(read_input(i, tail, r));
  const auto flag = [](const Json& at, const char* key) {
    const Json p = at.value("parameters", Json::object());
    return p.is_object() && p.contains(key) && p[key].is_boolean() && p[key].get<bool>();
  };
  r.all_binary = flag(json, "binary_data_output");
  if (const auto outputs = json.find("outputs"); outputs != json.end() && outputs->is_array())
    for (const Json& o : *outputs) {
      if (!o.is_object()) return bad_v2("an output is not an object");
      r.wanted.push_back(text_at(o, "name"));
      r.binary[r.wanted.back()] = flag(o, "binary_data");
    }
  if (const Json p = json.value("parameters", Json::object()); p.is_object())
    for (const auto& [key, value] : p.items())
      if (key != "binary_data_output") r.settings[key] = value;
  return r;
}

WebAnswer infer_answer(const ServedModel& model, const InferRequest& r,
                       const std::vector<InferTensor>& tensors) {
  OrderedJson out{{"model_name", model.name()}, {"model_version", model.version()}};
  if (!r.id.empty()) out["id"] = r.id;
  out["outputs"] = OrderedJson::array();
  std::string tail;
  for (const InferTensor& t : tensors) {
    OrderedJson o{{"name", t.name}, {"datatype", t.datatype}, {"shape", t.shape}};
    const auto own = r.binary.find(t.name);
    if (own != r.binary.end() ? own->second : r.all_binary) {
      const std::string bytes = bytes_of(t);
      o["parameters"] = {{"binary_data_size", bytes.size()}};
      tail += bytes;
    } else if (t.datatype == "BYTES") {
      o["data"] = t.texts;
    } else {
      o["data"] = t.floats;
    }
    out["outputs"].push_back(std::move(o));
  }
  const std::string head = dump_json(out);
  if (tail.empty()) return {200, head};
  return {200,
          head + tail,
          "application/octet-stream",
          {{"Inference-Header-Content-Length", std::to_string(head.size())}}};
}

Status infer(RouteCall& call, const ModelSet::Model& model) {
  auto request = std::make_shared<InferRequest>(HONE_TRY(read_infer(call)));
  const InferTensor& text = *HONE_TRY(texts_among(request->inputs));
  std::vector<TextQuery> queries =
      HONE_TRY(queries_of(text, std::move(request->settings), call.server.deadline()));
  const std::vector<int64_t> shape = text.shape;
  ask_all(call, model, std::move(queries),
          [reply = call.reply, model, request, shape](Result<std::vector<TextAnswer>> all) {
            if (!all.ok()) return refuse_v2(reply, all.error());
            const auto tensors = tensors_of(*model, *all, request->wanted, shape);
            if (!tensors.ok()) return refuse_v2(reply, tensors.error());
            reply->send(infer_answer(*model, *request, *tensors));
          });
  return Ok{};
}

// {"text_input": "...", "parameters": {...}} -> {"text_output": "..."}
Status generate(RouteCall& call, const ModelSet::Model& model, bool stream) {
  const Json body = HONE_TRY(json_object(call.request.body));
  TextQuery q;
  if (!body.contains("text_input") || !body["text_input"].is_string())
    return bad_v2("the body has no text \"text_input\"");
  q.text = body["text_input"].get<std::string>();
  Json settings = body.value("parameters", Json::object());
  if (settings.is_object()) settings.erase("stream");
  q.settings = std::make_shared<const Json>(std::move(settings));
  q.deadline = call.server.deadline();
  const auto answer_of = [model](const std::string& text) {
    return OrderedJson{
        {"model_name", model->name()}, {"model_version", model->version()}, {"text_output", text}};
  };
  if (!stream) {
    std::vector<TextQuery> one;
    one.push_back(std::move(q));
    ask_all(call, model, std::move(one),
            [reply = call.reply, answer_of](Result<std::vector<TextAnswer>> all) {
              if (!all.ok()) return refuse_v2(reply, all.error());
              if ((*all)[0].texts.empty())
                return refuse_v2(reply, bad_v2("the model writes no text"));
              send_json(reply, answer_of((*all)[0].texts[0].text));
            });
    return Ok{};
  }
  // Status and headers wait for the first piece, so a refusal can still have its own status.
  const auto begun = std::make_shared<bool>(false);
  const auto begin = [reply = call.reply, begun] {
    if (!std::exchange(*begun, true)) reply->begin({200, "", "text/event-stream"});
  };
  ask_pieces(
      call, model, std::move(q),
      [reply = call.reply, begin, answer_of](size_t, const std::string& text) {
        begin();
        reply->write("data: " + dump_json(answer_of(text)) + "\n\n");
      },
      [reply = call.reply, begin, begun, answer_of](Result<TextAnswer> a) {
        if (!a.ok() && !*begun) return refuse_v2(reply, a.error());
        begin();
        if (!a.ok())
          reply->write("data: " + dump_json(Json{{"error", line_of(a.error())}}) + "\n\n");
        reply->end();
      });
  return Ok{};
}

OrderedJson metadata_of(const ModelSet& models, const ServedModel& model) {
  OrderedJson versions = OrderedJson::array(), outputs = OrderedJson::array();
  for (const auto& m : models.all())
    if (m->name() == model.name()) versions.push_back(m->version());
  for (const TensorForm& t : outputs_of(model))
    outputs.push_back({{"name", t.name}, {"datatype", t.datatype}, {"shape", {-1}}});
  return {{"name", model.name()},
          {"versions", versions},
          {"platform", "hone"},
          {"inputs", {{{"name", "text_input"}, {"datatype", "BYTES"}, {"shape", {-1}}}}},
          {"outputs", outputs}};
}

void repository_index(RouteCall& call) {
  OrderedJson all = OrderedJson::array();
  std::vector<std::string> names;
  for (const auto& m : call.server.models.all()) {
    all.push_back({{"name", m->name()}, {"version", m->version()}, {"state", "READY"}});
    names.push_back(m->name());
  }
  if (call.server.repository)
    for (const std::string& name : call.server.repository())
      if (std::find(names.begin(), names.end(), name) == names.end())
        all.push_back({{"name", name}, {"version", ""}, {"state", "UNAVAILABLE"}});
  send_json(call.reply, all);
}

// {"parameters": {"hone_version": "3", "hone_traffic": 10}} names a version and its share. Without
// them the newest gets all requests; if it is served already it is reloaded, and the shares stay.
Result<LoadRequest> load_request(const RouteCall& call, const std::string& name) {
  LoadRequest r{name};
  if (call.request.body.empty()) return r;
  const Json body = HONE_TRY(json_object(call.request.body));
  const Json parameters = body.value("parameters", Json::object());
  r.version = text_at(parameters, "hone_version");
  r.deployed_id = text_at(parameters, "hone_deployed_id");
  if (const auto t = parameters.find("hone_traffic"); t != parameters.end()) {
    if (!t->is_number_integer() || t->get<int64_t>() < 1 || t->get<int64_t>() > 100)
      return bad_v2("hone_traffic is not in 1 to 100");
    r.traffic = t->get<int64_t>();
  }
  return r;
}

Status repository_change(RouteCall& call, const std::string& name, bool load) {
  if (load ? !call.server.load : !call.server.unload)
    return Error(err::kServeNoModel, "this server has no model repository")
        .todo("start it with --model_repository DIR");
  const auto answer = [reply = call.reply](const Status& s) {
    if (!s.ok()) return refuse_v2(reply, s.error());
    reply->send({200, "{}"});
  };
  if (!load) {
    answer(call.server.unload(name));
    return Ok{};
  }
  const LoadRequest wanted = HONE_TRY(load_request(call, name));
  return call.server.loads.add([&server = call.server, wanted] { return server.load(wanted); },
                               answer);
}

bool handle_kserve2(RouteCall& call) {
  const auto& p = call.parts;
  if (p.empty() || p[0] != "v2") return false;
  if (p.size() == 1 && call.get()) {
    send_json(call.reply, {{"name", "hone"},
                           {"version", call.server.version},
                           {"extensions",
                            {"binary_tensor_data", "generate", "model_configuration",
                             "model_repository", "model_repository(unload_dependents)"}}});
    return true;
  }
  if (p.size() == 3 && p[1] == "repository" && p[2] == "index") {
    repository_index(call);
    return true;
  }
  if (p.size() == 5 && p[1] == "repository" && p[2] == "models" && call.post() &&
      (p[4] == "load" || p[4] == "unload")) {
    if (const Status s = repository_change(call, p[3], p[4] == "load"); !s.ok())
      refuse_v2(call.reply, s.error());
    return true;
  }
  if (p.size() < 3 || p[1] != "models") return false;
  size_t at = 3;
  std::string version;
  if (p.size() > 4 && p[3] == "versions") version = p[4], at = 5;
  const std::string verb = p.size() > at ? p[at] : "";
  if (p.size() > at + 1) return false;
  ModelSet& models = call.server.models;
  const Result<ModelSet::Model> model =
      call.get() ? models.look_up(p[2], version) : models.find(p[2], version);
  if (call.get() && verb == "ready") {
    call.reply->send({model.ok() && call.server.ready ? 200 : 404, ""});
    return true;
  }
  if (!model.ok()) {
    refuse_v2(call.reply, model.error());
    return true;
  }
  Status s = Ok{};
  if (call.get() && verb.empty())
    send_json(call.reply, metadata_of(models, **model));
  else if (call.get() && verb == "config")
    send_json(call.reply, triton_config(**model));
  else if (call.post() && verb == "infer")
    s = infer(call, *model);
  else if (call.post() && (verb == "generate" || verb == "generate_stream"))
    s = generate(call, *model, verb == "generate_stream");
  else
    return false;
  if (!s.ok()) refuse_v2(call.reply, s.error());
  return true;
}

}  // namespace

Route serve_route_kserve2() { return {"v2", handle_kserve2}; }

}  // namespace hone
