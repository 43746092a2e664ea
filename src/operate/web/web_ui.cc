#include "operate/web/web_ui.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <new>
#include <thread>

#include "base/core/log_thrown.h"
#include "base/core/loopback.h"
#include "base/core/process.h"
#include "base/core/text.h"
#include "base/store/store.h"
#include "operate/web/api.h"
#include "operate/web/endpoint_proxy.h"
#include "operate/web/errors.h"
#include "operate/web/pages.h"

namespace hone {
namespace {

constexpr size_t kWorkers = 8, kMostWaiting = 64;

const WebHeaders kSafeHeaders = {
    {"content-security-policy",
     "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
     "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"},
    {"x-content-type-options", "nosniff"},
    {"referrer-policy", "no-referrer"},
    {"cross-origin-opener-policy", "same-origin"},
    {"cross-origin-resource-policy", "same-origin"},
    {"cache-control", "no-store"}};

// "/runs" is the page runs.html; scripts and styles have their names.
const WebPage* page_of(const std::string& path) {
  const std::string name = path == "/" ? "runs.html" : path.substr(1);
  for (const WebPage& page : web_pages())
    if (page.name == name || page.name == name + ".html") return &page;
  return nullptr;
}

std::string type_of(std::string_view name) {
  if (name.ends_with(".css")) return "text/css; charset=utf-8";
  if (name.ends_with(".js")) return "text/javascript; charset=utf-8";
  if (name.ends_with(".svg")) return "image/svg+xml";
  return "text/html; charset=utf-8";
}

// Host without its port.
std::string_view host_of(std::string_view authority) {
  const size_t colon = authority.rfind(':');
  if (authority.ends_with(']') || colon == std::string_view::npos) return authority;
  return authority.substr(0, colon);
}

}  // namespace

struct WebUi::Impl {
  struct Waiting {
    WebRequest request;
    std::shared_ptr<WebReply> reply;
  };
  Impl(const WebUiOptions& o, EndpointProxy p)
      : options(o),
        proxy(std::move(p)),
        runs(o.folder, {.error_page = o.error_page, .version = o.version}),
        pipelines(o.folder),
        models(o.registry),
        data({o.folder, o.data_folders}, runs, models) {
    for (size_t i = 0; i < kWorkers; ++i) workers.emplace_back([this] { work(); });
  }
  ~Impl() {
    {
      std::lock_guard lock(mutex);
      ends = true;
    }
    changed.notify_all();
    for (std::thread& t : workers) t.join();
    waiting.clear();  // a reply needs the server
    server.reset();
  }

  // A page of another site may neither read answers through a name of its own that leads here (the
  // host is then not this machine's), nor send what the endpoint would be asked.
  bool from_here(const WebRequest& r) const {
    const std::string_view host = r.header("host"), origin = r.header("origin"),
                           site = r.header("sec-fetch-site");
    if (is_loopback(options.http.host) && !host.empty() && !is_loopback(host_of(host)))
      return false;
    if (r.method == "GET" || r.method == "HEAD") return true;
    if (!site.empty() && site != "same-origin") return false;
    if (!origin.empty()) {
      const size_t at = origin.find("://");
      if (at == std::string_view::npos || origin.substr(at + 3) != host) return false;
    }
    return r.header("content-type").starts_with("application/json");
  }

  // On the server's thread: what is in memory is answered, the rest waits for a worker.
  void take(WebRequest request, std::shared_ptr<WebReply> reply) {
    if (!from_here(request))
      return send(*reply, web_error(403,
                                    "requests of other sites are not answered; those of programs "
                                    "need the address of hone ui as Host and, with a body, "
                                    "Content-Type: application/json"));
    if (!request.path.starts_with("/api/")) {
      if (request.method != "GET" && request.method != "HEAD")
        return send(*reply, web_error(405, "pages are read with GET"));
      const WebPage* page = page_of(request.path);
      if (page == nullptr) return send(*reply, web_error(404, "there is no such page"));
      return send(*reply, {.body = std::string(page->text), .type = type_of(page->name)});
    }
    {
      std::lock_guard lock(mutex);
      if (!ends && waiting.size() < kMostWaiting) {
        waiting.push_back({std::move(request), std::move(reply)});
        changed.notify_one();
        return;
      }
    }
    send(*reply, too_busy("too many requests wait"));
  }

  static WebAnswer too_busy(const std::string& why) {
    WebAnswer busy = web_error(503, why);
    busy.headers.emplace_back("retry-after", "1");
    return busy;
  }

  void work() {
    for (;;) {
      Waiting next;
      {
        std::unique_lock lock(mutex);
        changed.wait(lock, [this] { return ends || !waiting.empty(); });
        if (ends) return;
        next = std::move(waiting.front());
        waiting.pop_front();
      }
      // A reply without an answer sends status 500.
      log_if_thrown("a request", [&] {
        try {
          route(next.request, *next.reply);
        } catch (const std::bad_alloc&) {
          next.request = {};
          send(*next.reply, too_busy("there is no memory for this request"));
        }
      });
    }
  }

  void route(const WebRequest& r, WebReply& reply) {
    const auto parts = path_parts(r.path);
    const auto query = parse_query(r.query);
    if (!parts || parts->size() < 2 || !query)
      return send(reply, web_error(400, "the path or query cannot be read"));
    const std::string& name = (*parts)[1];
    if (name == "endpoint") return pass_on(r, proxy, {parts->begin() + 2, parts->end()}, reply);
    if (name == "endpoints" && parts->size() > 3)
      return pass_to_registered(r, (*parts)[2], {parts->begin() + 3, parts->end()}, reply);
    if (r.method != "GET" && r.method != "HEAD")
      return send(reply, web_error(405, "this route is read with GET"));
    ApiRequest request{{parts->begin() + 2, parts->end()}, *query};
    if (name == "runs") return send(reply, runs.answer(request));
    if (name == "errors") return send(reply, error_page(request));
    if (name == "pipelines") return send(reply, pipelines.answer(request));
    if (name == "models") return send(reply, models.answer(request));
    if (name == "endpoints" && parts->size() == 2) return send(reply, endpoint_list());
    if (name == "data")
      return send(reply, data.answer(request, [&] { return ends || reply.gone(); }));
    if (name == "about")
      return send(reply, api_answer({{"version", options.version},
                                     {"folder", options.folder},
                                     {"endpoint_url", proxy.url()}}));
    send(reply, web_error(404, "there is no such route"));
  }

  // /api/errors/CODE: the page of an error, in Markdown.
  WebAnswer error_page(const ApiRequest& request) const {
    const std::string code = request.parts.size() == 1 ? request.parts[0] : "";
    const std::string text = options.error_page ? options.error_page(code) : "";
    if (text.empty())
      return api_failure(Error(err::kWebView, fmt::format("no error has the code '{}'", code))
                             .todo("name a code of hone, such as H2404"),
                         404);
    return api_answer({{"code", code}, {"text", text}});
  }

  void pass_on(const WebRequest& r, const EndpointProxy& to, const std::vector<std::string>& route,
               WebReply& reply) const {
    // Only what parts of a route are made of: no part can lead elsewhere.
    const std::string path = join(route, "/");
    if (path.empty() || path.find_first_of("?#\\ \r\n%") != std::string::npos)
      return send(reply, web_error(400, "name a route of the endpoint"));
    if (r.method != "GET" && r.method != "POST")
      return send(reply, web_error(405, "ask an endpoint with GET or POST"));
    to.pass(r, path, reply, ends);
  }

  // The server of an endpoint of the registry; hone deploy sends it the same key.
  void pass_to_registered(const WebRequest& r, const std::string& name,
                          const std::vector<std::string>& route, WebReply& reply) {
    const Result<Endpoint> endpoint = models.endpoint(name);
    if (!endpoint.ok()) return send(reply, api_failure(endpoint.error()));
    if (endpoint->address.empty())
      return send(
          reply,
          api_failure(
              Error(err::kWebView,
                    fmt::format("the endpoint '{}' has no server", endpoint->display_name))
                  .todo(fmt::format("start one: hone deploy {}", shell_word(endpoint->model))),
              503));
    const auto to = EndpointProxy::make(endpoint->address, options.endpoint_key);
    if (!to.ok()) return send(reply, api_failure(to.error(), 502));
    pass_on(r, *to, route, reply);
  }

  WebAnswer endpoint_list() {
    const Result<OrderedJson> list = models.endpoints();
    if (!list.ok()) return api_failure(list.error());
    return api_answer({{"endpoint_url", proxy.url()},
                       {"needs_key", !options.endpoint_key.empty()},
                       {"endpoints", *list}});
  }

  static void send(WebReply& reply, WebAnswer answer) {
    answer.headers.insert(answer.headers.end(), kSafeHeaders.begin(), kSafeHeaders.end());
    reply.send(std::move(answer));
  }

  WebUiOptions options;
  EndpointProxy proxy;
  RunsApi runs;
  PipelinesApi pipelines;
  ModelsApi models;
  DataApi data;
  std::unique_ptr<HttpServer> server;
  std::mutex mutex;
  std::condition_variable changed;
  std::atomic<bool> ends = false;
  std::deque<Waiting> waiting;
  std::vector<std::thread> workers;
};

WebUi::WebUi(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
WebUi::~WebUi() = default;
std::string WebUi::url() const { return impl_->server->url(); }

Result<std::unique_ptr<WebUi>> WebUi::start(const WebUiOptions& options) {
  if (!is_folder(options.folder))
    return Error(err::kWebFlag, fmt::format("'{}' is not a folder", options.folder))
        .at("--folder")
        .todo("name the folder that holds runs, pipelines and data");
  for (const std::string& folder : options.data_folders)
    if (!is_folder(folder))
      return Error(err::kWebFlag, fmt::format("'{}' is not a folder", folder))
          .at("--data_folders")
          .todo("name folders with data files");
  WebUiOptions own = options;
  std::error_code failed;
  // Pages show where it is, whatever it was called.
  if (const auto at = std::filesystem::canonical(options.folder, failed); !failed)
    own.folder = at.string();
  auto impl = std::make_unique<Impl>(
      own, HONE_TRY(EndpointProxy::make(options.endpoint_url, options.endpoint_key)));
  Impl* const it = impl.get();
  impl->server = HONE_TRY(
      HttpServer::start(options.http, [it](WebRequest request, std::shared_ptr<WebReply> reply) {
        it->take(std::move(request), std::move(reply));
      }));
  return std::unique_ptr<WebUi>(new WebUi(std::move(impl)));
}

}  // namespace hone
