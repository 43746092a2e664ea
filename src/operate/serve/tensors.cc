#include "operate/serve/tensors.h"

#include <cstring>

#include "operate/serve/errors.h"

namespace hone {

int64_t InferTensor::size() const {
  int64_t n = 1;
  for (const int64_t d : shape) {
    if (d < 0 || (d > 0 && n > (int64_t{1} << 40) / d)) return -1;
    n *= d;
  }
  return n;
}

std::vector<TensorForm> outputs_of(const ServedModel& model) {
  if (model.task() == ServedTask::generation || model.task() == ServedTask::text2text)
    return {{"text_output", "BYTES"}};
  return {{"label", "BYTES"}, {"score", "FP32"}};
}

OrderedJson triton_config(const ServedModel& model) {
  const auto entry = [](const std::string& name, const std::string& datatype) {
    return OrderedJson{{"name", name},
                       {"data_type", datatype == "BYTES" ? "TYPE_STRING" : "TYPE_" + datatype},
                       {"dims", {1}}};
  };
  OrderedJson outputs = OrderedJson::array();
  for (const TensorForm& t : outputs_of(model)) outputs.push_back(entry(t.name, t.datatype));
  return {{"name", model.name()},
          {"platform", "hone"},
          {"backend", "hone"},
          {"version_policy", {{"latest", {{"num_versions", 1}}}}},
          {"max_batch_size", model.load().rows},
          {"input", OrderedJson::array({entry("text_input", "BYTES")})},
          {"output", outputs}};
}

Result<const InferTensor*> texts_among(const std::vector<InferTensor>& inputs) {
  const InferTensor* text = nullptr;
  for (const InferTensor& t : inputs)
    if (t.name == "text_input" || (text == nullptr && t.datatype == "BYTES")) text = &t;
  if (text == nullptr)
    return Error(err::kServeRequest, "no input is a tensor of texts")
        .todo("send the input text_input with datatype BYTES");
  if (text->datatype != "BYTES")
    return Error(err::kServeRequest,
                 fmt::format("the input {} is {}, BYTES is expected", text->name, text->datatype));
  if (text->size() != static_cast<int64_t>(text->texts.size()))
    return Error(err::kServeRequest, fmt::format("the input {} has {} texts, its shape has {}",
                                                 text->name, text->texts.size(), text->size()));
  return text;
}

Result<std::vector<TextQuery>> queries_of(const InferTensor& text, Json settings,
                                          Deadline deadline) {
  HONE_TRY(check_text_count(text.texts.size()));
  const auto shared = std::make_shared<const Json>(std::move(settings));
  std::vector<TextQuery> queries;
  for (const std::string& t : text.texts)
    queries.push_back({.text = t, .settings = shared, .deadline = deadline});
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
    InferTensor t{form.name, form.datatype, shape, {}, {}};
    for (const TextAnswer& a : answers) {
      if (form.name == "text_output")
        t.texts.push_back(a.texts[0].text);
      else if (form.name == "label")
        t.texts.push_back(a.labels[0][0].label);
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
