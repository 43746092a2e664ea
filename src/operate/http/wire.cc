#include "operate/http/wire.h"

#include <fmt/core.h>

#include <array>
#include <boost/asio/write.hpp>

namespace hone {

void Wire::handshake(std::function<void(beast::error_code)> done) {
  tls_->async_handshake(asio::ssl::stream_base::server, std::move(done));
}

void Wire::shutdown(std::function<void(beast::error_code)> done) {
  tls_->async_shutdown(std::move(done));
}

void Wire::read_some(asio::mutable_buffer into, WireDone done) {
  if (tls_) return tls_->async_read_some(into, std::move(done));
  tcp_.async_read_some(into, std::move(done));
}

void Wire::write(std::string_view first, std::string_view second, WireDone done) {
  const std::array<asio::const_buffer, 2> bytes = {asio::buffer(first), asio::buffer(second)};
  if (tls_) return asio::async_write(*tls_, bytes, std::move(done));
  asio::async_write(tcp_, bytes, std::move(done));
}

WebAnswer no_room_for_body(const HttpShared& shared) {
  WebAnswer a = web_error(
      503, fmt::format("the server holds bodies of {} bytes, and takes no more before it has "
                       "answered some: ask again",
                       shared.options.most_open_bytes));
  a.headers = {{"Retry-After", "1"}};
  return a;
}

}  // namespace hone
