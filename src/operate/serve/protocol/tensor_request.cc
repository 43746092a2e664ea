#include "operate/serve/protocol/tensor_request.h"

#include <charconv>
#include <cstring>
#include <functional>

#include "operate/serve/protocol/errors.h"
#include "operate/serve/protocol/json_body.h"

namespace hone {
namespace {

Error bad_tensor(const std::string& what) { return Error(err::kServeRequest, what); }

// A list of texts, or lists in it.
Status add_texts(const Json& data, InferTensor& t) {
  if (data.is_array()) {
    for (const Json& d : data) HONE_TRY(add_texts(d, t));
    return Ok{};
  }
  if (t.datatype != "BYTES") return Ok{};
  if (!data.is_string()) return bad_tensor(fmt::format("the data of {} are not texts", t.name));
  t.texts.push_back(data.get<std::string>());
  return Ok{};
}

// `tail`: the bytes of binary tensors that no input before has taken.
Result<InferTensor> input_of(const Json& j, std::string_view& tail) {
  if (!j.is_object()) return bad_tensor("an input is not an object");
  HONE_TRY(check_keys(j, {"name", "datatype", "shape", "parameters", "data"}, "inputs"));
  InferTensor t{text_at(j, "name"), text_at(j, "datatype")};
  const auto shape = j.find("shape");
  if (t.name.empty() || shape == j.end() || !shape->is_array())
    return bad_tensor("an input has no name or no shape");
  for (const Json& d : *shape) {
    if (!d.is_number_integer())
      return bad_tensor(fmt::format("the shape of {} is not a list of whole numbers", t.name));
    t.shape.push_back(d.get<int64_t>());
  }
  const Json parameters = HONE_TRY(parameters_of(j));
  HONE_TRY(check_keys(parameters, {"binary_data_size"}, t.name));
  if (parameters.contains("binary_data_size")) {
    if (j.contains("data"))
      return bad_tensor(fmt::format("{} has data and binary_data_size", t.name))
          .todo("send one of them");
    const Json& size = parameters["binary_data_size"];
    if (!size.is_number_integer() || size.get<int64_t>() < 0 ||
        static_cast<uint64_t>(size.get<int64_t>()) > tail.size())
      return bad_tensor(fmt::format("binary_data_size of {} is more than the body has", t.name));
    t.bytes = tail.substr(0, size.get<size_t>());
    tail.remove_prefix(t.bytes.size());
  } else {
    HONE_TRY(add_texts(j.value("data", Json::array()), t));
  }
  HONE_TRY(read_tensor(t));
  return t;
}

// A parameter that is true or false; false if there is none.
Result<bool> asks_for(const Json& parameters, const char* key) {
  const auto it = parameters.find(key);
  if (it == parameters.end()) return false;
  if (!it->is_boolean()) return bad_tensor(fmt::format("{} is not true or false", key));
  return it->get<bool>();
}

Status add_output(const Json& o, TensorBody& b) {
  if (!o.is_object()) return bad_tensor("an output is not an object");
  HONE_TRY(check_keys(o, {"name", "parameters"}, "outputs"));
  const Json parameters = HONE_TRY(parameters_of(o));
  HONE_TRY(check_keys(parameters, {"binary_data"}, "outputs"));
  const std::string name = HONE_TRY(text_member(o, "name"));
  if (name.empty()) return bad_tensor("an output has no name");
  b.request.wanted.push_back(name);
  b.binary[name] =
      parameters.empty() ? b.all_binary : HONE_TRY(asks_for(parameters, "binary_data"));
  return Ok{};
}

}  // namespace

int64_t size_of(const InferTensor& tensor) {
  int64_t n = 1;
  for (const int64_t d : tensor.shape) {
    if (d < 0 || (d > 0 && n > (int64_t{1} << 40) / d)) return -1;
    n *= d;
  }
  return n;
}

Status read_tensor(InferTensor& t) {
  if (t.name.empty()) return bad_tensor("an input has no name or no shape");
  const int64_t size = size_of(t);
  if (size < 0 || static_cast<size_t>(size) > kMostTexts)
    return bad_tensor(fmt::format("the shape of {} has a negative size, or more than {} values",
                                  t.name, kMostTexts));
  if (t.datatype == "BYTES" && !t.bytes.empty()) t.texts = HONE_TRY(texts_of_bytes(t.bytes));
  t.bytes.clear();
  return Ok{};
}

Result<TensorBody> read_tensor_body(std::string_view body, std::string_view json_length) {
  std::string_view tail;
  if (!json_length.empty()) {
    size_t n = 0;
    const char* last = json_length.data() + json_length.size();
    const auto [end, failed] = std::from_chars(json_length.data(), last, n);
    if (failed != std::errc() || end != last || n > body.size())
      return bad_tensor("Inference-Header-Content-Length is not a length within the body");
    tail = body.substr(n);
    body = body.substr(0, n);
  }
  const Json json = HONE_TRY(json_object(body));
  TensorBody b;
  TensorRequest& r = b.request;
  HONE_TRY(check_keys(json, {"id", "parameters", "inputs", "outputs"}));
  r.id = HONE_TRY(text_member(json, "id"));
  const auto inputs = json.find("inputs");
  if (inputs == json.end() || !inputs->is_array())
    return bad_tensor("the body has no list \"inputs\"");
  for (const Json& i : *inputs) {
    InferTensor tensor = HONE_TRY(input_of(i, tail));
    r.inputs.push_back(std::move(tensor));
  }
  r.settings = HONE_TRY(parameters_of(json));
  b.all_binary = HONE_TRY(asks_for(r.settings, "binary_data_output"));
  r.settings.erase("binary_data_output");
  if (const auto outputs = json.find("outputs"); outputs != json.end() && !outputs->is_null()) {
    if (!outputs->is_array()) return bad_tensor("the outputs are not a list");
    for (const Json& o : *outputs) HONE_TRY(add_output(o, b));
  }
  return b;
}

Result<const InferTensor*> texts_among(const std::vector<InferTensor>& inputs) {
  const InferTensor* text = nullptr;
  for (const InferTensor& t : inputs)
    if (t.name == "text_input" || (text == nullptr && t.datatype == "BYTES")) text = &t;
  if (text == nullptr)
    return Error(err::kServeRequest, "no input is a tensor of texts")
        .todo("send the input text_input with datatype BYTES");
  if (text->datatype != "BYTES")
    return bad_tensor(
        fmt::format("the input {} is {}, BYTES is expected", text->name, text->datatype));
  if (size_of(*text) != static_cast<int64_t>(text->texts.size()))
    return bad_tensor(fmt::format("the input {} has {} texts, its shape says {}", text->name,
                                  text->texts.size(), size_of(*text)));
  return text;
}

Result<std::vector<std::string>> texts_of_bytes(std::string_view bytes) {
  std::vector<std::string> texts;
  while (!bytes.empty()) {
    uint32_t size = 0;
    if (bytes.size() >= sizeof size) std::memcpy(&size, bytes.data(), sizeof size);
    if (bytes.size() < sizeof size || bytes.size() - sizeof size < size)
      return Error(err::kServeRequest, "the bytes of a tensor end within a text")
          .todo("write each text after its length, u32 little-endian");
    texts.emplace_back(bytes.substr(sizeof size, size));
    bytes.remove_prefix(sizeof size + size);
  }
  return texts;
}

std::string bytes_of(const InferTensor& t) {
  std::string bytes;
  for (const std::string& text : t.texts) {
    const auto size = static_cast<uint32_t>(text.size());
    bytes.append(reinterpret_cast<const char*>(&size), sizeof size);
    bytes += text;
  }
  if (!t.floats.empty())
    bytes.append(reinterpret_cast<const char*>(t.floats.data()), t.floats.size() * sizeof(float));
  return bytes;
}

}  // namespace hone
