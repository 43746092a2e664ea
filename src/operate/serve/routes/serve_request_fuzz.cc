// Any body for any route that takes one: it is answered once, never with status 500. The first byte chooses the
// route, a tiny model answers.
#include <condition_variable>
#include <mutex>

#include "operate/serve/route_table.h"
#include "operate/serve/routes/routes.h"

namespace {

using namespace hone;

class OneReply : public WebReply {
 public:
  void send(WebAnswer a) override { over(a.status); }
  void begin(WebAnswer head) override { status_ = head.status; }
  void write(std::string) override {}
  void end() override { over(status_); }
  bool gone() const override { return false; }
  void on_gone(std::function<void()>) override {}
  int wait() {
    std::unique_lock lock(mutex_);
    done_.wait(lock, [&] { return answers_ > 0; });
    HONE_BUG_IF(answers_ > 1, "two answers to a request");
    return last_;
  }

 private:
  void over(int status) {
    std::lock_guard lock(mutex_);
    ++answers_;
    last_ = status;
    done_.notify_all();
  }
  std::mutex mutex_;
  std::condition_variable done_;
  int answers_ = 0, last_ = 0, status_ = 0;
};

ServeContext& context() {
  static ServeContext& c = []() -> ServeContext& {
    auto* made = new ServeContext();
    ServedOptions o;
    o.batch_size = 2;
    o.max_length = 12;
    o.threads = 1;
    made->models.add(
        ServedModel::load("m", "1", std::string(HONE_SOURCE_DIR) + "/tests/goldens/tiny_text_gpt2",
                          o)
            .value());
    made->ready = true;
    return *made;
  }();
  return c;
}

constexpr const char* kPaths[] = {"/v1/models/m:predict",         "/v1/completions",
                                  "/v1/chat/completions",         "/v2/models/m/infer",
                                  "/v2/models/m/generate",        "/v2/models/m/generate_stream",
                                  "/v2/repository/models/m/load", "/v1/responses"};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const RouteTable routes(all_serve_api(), context());
  if (size == 0) return 0;
  const std::string path = kPaths[data[0] % std::size(kPaths)];
  const auto match = routes.find("POST", *path_parts(path), false);
  HONE_BUG_IF(!match || !match->allowed.empty(), "nobody takes {}", path);
  const auto reply = std::make_shared<OneReply>();
  RouteCall call{
      {"POST", path, "", {}, std::string(reinterpret_cast<const char*>(data) + 1, size - 1)},
      match->names,
      reply,
      context()};
  // The JSON of a binary request ends at the first line break.
  if (data[0] % 2 == 1)
    if (const size_t end = call.request.body.find('\n'); end != std::string::npos)
      call.request.headers = {{"inference-header-content-length", std::to_string(end)}};
  match->route->handle(call);
  HONE_BUG_IF(reply->wait() == 500, "status 500");
  return 0;
}
