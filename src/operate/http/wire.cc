#include "operate/http/wire.h"

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

}  // namespace hone
