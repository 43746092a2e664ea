// A classifier of images over HTTP, by a tiny model of tests/goldens/image_models.
#include <gtest/gtest.h>

#include <cstring>

#include "base/core/text.h"
#include "base/store/http.h"
#include "base/unicode/base64.h"
#include "operate/serve/inference_server.h"
#include "operate/serve/routes/routes.h"

namespace hone {
namespace {

const std::string kImageGoldens = HONE_SOURCE_DIR "/tests/goldens/";

class ImageRoutes : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    context_ = new ServeContext();
    context_->endpoint = "123";
    for (const auto& [name, folder] :
         {std::pair("vit", "image_models/vit"), {"gpt2", "tiny_text_gpt2"}}) {
      auto model =
          ServedModel::load(name, "1", kImageGoldens + folder, {.threads = 1, .batch_size = 4});
      ASSERT_TRUE(model.ok()) << model.error().text();
      context_->models.add(*model);
    }
    context_->ready = true;
    server_ = std::move(InferenceServer::start({}, all_serve_api(), *context_).value()).release();
  }
  static void TearDownTestSuite() {
    delete server_;
    delete context_;
  }
  static std::string picture(const std::string& name) {
    return read_file(kImageGoldens + "image_folder/validation/" + name).value();
  }
  HttpResponse post(const std::string& path, const std::string& body, HttpHeaders headers = {}) {
    return http_
        .send({.method = "POST",
               .url = server_->url() + "/" + path,
               .headers = std::move(headers),
               .body = std::as_bytes(std::span(body))})
        .value();
  }
  Json predictions(const std::string& path, const Json& instances,
                   const Json& parameters = nullptr) {
    Json body{{"instances", instances}};
    if (!parameters.is_null()) body["parameters"] = parameters;
    const HttpResponse r = post(path, body.dump());
    EXPECT_EQ(r.status, 200) << r.body;
    return Json::parse(r.body, nullptr, false)["predictions"];
  }
  std::string refused(const Json& instance) {
    const HttpResponse r = post("v1/models/vit:predict", Json{{"instances", {instance}}}.dump());
    EXPECT_EQ(r.status, 400) << r.body;
    return r.body;
  }
  // A PNG whose header has 60,000 x 60,000 pixels, and the header's CRC-32.
  static std::string bomb() {
    std::string png = picture("cat/1.png");
    for (const size_t at : {16, 20}) png.replace(at, 4, std::string("\x00\x00\xea\x60", 4));
    uint32_t crc = ~0u;
    for (const char c : png.substr(12, 17)) {
      crc ^= static_cast<unsigned char>(c);
      for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0u);
    }
    for (size_t i = 0; i < 4; ++i) png[29 + i] = static_cast<char>(~crc >> (24 - 8 * i));
    return png;
  }
  static inline ServeContext* context_ = nullptr;
  static inline InferenceServer* server_ = nullptr;
  HttpClient http_{{.retries = 0}};
};

constexpr const char* kVertex = "v1/projects/p/locations/l/endpoints/vit:predict";
constexpr const char* kKserve1 = "v1/models/vit:predict";

TEST_F(ImageRoutes, FormsOfAnImageGiveTheSameAnswer) {
  const std::string coded = encode_base64(picture("cat/0.jpg"));
  const Json all = predictions(kVertex, {{{"b64", coded}},
                                         {{"image_bytes", {{"b64", coded}}}},
                                         {{"content", coded}, {"mimeType", "image/jpeg"}},
                                         coded,
                                         "data:image/jpeg;base64," + coded,
                                         {{"image", coded}}});
  ASSERT_EQ(all.size(), 6u);
  EXPECT_TRUE(all[0]["label"].is_string());
  EXPECT_GT(all[0]["score"].get<double>(), 0);
  // Images are computed together, in programs of several sizes.
  for (const Json& one : all) {
    EXPECT_EQ(one["label"], all[0]["label"]);
    EXPECT_NEAR(one["score"].get<double>(), all[0]["score"].get<double>(), 1e-5);
  }
  const Json described = Json::parse(http_.get(server_->url() + "/v1/models/vit").value().body);
  EXPECT_TRUE(predictions(kKserve1, Json::array({described["example"]}))[0]["label"].is_string())
      << described;
  // All classes, best first.
  const Json ranked =
      predictions(kKserve1, {{{"b64", encode_base64(picture("dog/1.png"))}}}, {{"top_k", nullptr}});
  double sum = 0, before = 1;
  for (const Json& label : ranked[0]) {
    EXPECT_LE(label["score"].get<double>(), before);
    before = label["score"].get<double>();
    sum += before;
  }
  EXPECT_GT(ranked[0].size(), 1u);
  EXPECT_NEAR(sum, 1, 1e-6);
}

TEST_F(ImageRoutes, TensorsOfBase64AndOfBytes) {
  const std::string bytes = picture("owl/2.JPEG");
  const Json wanted = predictions(kKserve1, {encode_base64(bytes)})[0];
  const Json input{
      {"name", "image"}, {"datatype", "BYTES"}, {"shape", {1}}, {"data", {encode_base64(bytes)}}};
  const HttpResponse text = post("v2/models/vit/infer", Json{{"inputs", {input}}}.dump());
  ASSERT_EQ(text.status, 200) << text.body;
  const Json outputs = Json::parse(text.body)["outputs"];
  EXPECT_EQ(outputs[0]["data"][0], wanted["label"]);
  EXPECT_NEAR(outputs[1]["data"][0].get<double>(), wanted["score"].get<double>(), 1e-5);
  std::string tail(4, '\0');
  const auto size = static_cast<uint32_t>(bytes.size());
  std::memcpy(tail.data(), &size, sizeof size);
  tail += bytes;
  const std::string head = Json{{"inputs",
                                 {{{"name", "image"},
                                   {"datatype", "BYTES"},
                                   {"shape", {1}},
                                   {"parameters", {{"binary_data_size", tail.size()}}}}}}}
                               .dump();
  const HttpResponse raw = post("v2/models/vit/infer", head + tail,
                                {{"Inference-Header-Content-Length", std::to_string(head.size())}});
  ASSERT_EQ(raw.status, 200) << raw.body;
  EXPECT_EQ(Json::parse(raw.body)["outputs"][0]["data"][0], wanted["label"]);
  const Json form = Json::parse(http_.get(server_->url() + "/v2/models/vit").value().body);
  EXPECT_EQ(form["inputs"][0]["name"], "image");
}

TEST_F(ImageRoutes, BrokenImagesAndBombsAreRefusedWithTheirCode) {
  const std::string whole = picture("cat/0.jpg");
  EXPECT_NE(refused(encode_base64(whole.substr(0, whole.size() / 2))).find("H2961"),
            std::string::npos);
  EXPECT_NE(refused(encode_base64("not an image at all")).find("H2960"), std::string::npos);
  EXPECT_NE(refused(encode_base64(bomb())).find("H2962"), std::string::npos);
  EXPECT_NE(refused("%%%").find("base64"), std::string::npos);
  EXPECT_NE(refused({{"text", "a cat"}}).find("no image"), std::string::npos);
  EXPECT_NE(refused(5).find("no image"), std::string::npos);
  const HttpResponse vertex =
      post(kVertex, Json{{"instances", {encode_base64(whole.substr(0, 300))}}}.dump());
  EXPECT_EQ(vertex.status, 400);
  EXPECT_EQ(Json::parse(vertex.body)["error"]["status"], "INVALID_ARGUMENT");
  // Texts are for other models.
  EXPECT_EQ(post("v2/models/vit/generate", R"({"text_input": "hi"})").status, 400);
  EXPECT_EQ(post("v1/completions", R"({"model": "vit", "prompt": "hi"})").status, 400);
  EXPECT_EQ(post("v1/models/gpt2:predict", Json{{"instances", {{{"b64", "aGk="}}}}}.dump()).status,
            400);
}

}  // namespace
}  // namespace hone
