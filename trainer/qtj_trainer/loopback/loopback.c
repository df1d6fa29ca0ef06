/* Keeps the ports of a process, and of all that it starts, on the loopback interface: for LD_PRELOAD.
 *
 * TensorFlow's two servers, and most programs, listen on all addresses of a machine, and ask for no password. Here a TCP
 * socket that is bound to all addresses is bound to 127.0.0.1 instead; an IPv6 socket to ::ffff:127.0.0.1, which the
 * same clients reach, or to ::1 if it accepts IPv6 only. All other addresses stay as they are: so do connections to the
 * outside. UDP stays too, because a client of it is bound as a server is.
 *
 * A program that makes its system calls itself is not reached: one that is linked statically, and one in Go.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#define VISIBLE __attribute__((visibility("default")))

typedef int bind_function(int, const struct sockaddr *, socklen_t);
typedef int listen_function(int, int);

static int option(int socket, int level, int name) {
    int value = 0;
    socklen_t size = sizeof value;
    return getsockopt(socket, level, name, &value, &size) ? 0 : value;
}

/* Whether the socket is a client that asks for a source address and no port yet. */
static int is_client(int socket) { return option(socket, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT); }

/* Writes loopback in place of all addresses; the result is 0 if the address is not all addresses. */
static int narrow(int socket, struct sockaddr_storage *address, socklen_t size) {
    if (address->ss_family == AF_INET && size >= sizeof(struct sockaddr_in)) {
        struct in_addr *host = &((struct sockaddr_in *)address)->sin_addr;
        if (host->s_addr != htonl(INADDR_ANY)) return 0;
        host->s_addr = htonl(INADDR_LOOPBACK);
        return 1;
    }
    if (address->ss_family == AF_INET6 && size >= sizeof(struct sockaddr_in6)) {
        struct in6_addr *host = &((struct sockaddr_in6 *)address)->sin6_addr;
        static const unsigned char mapped_any[16] = {[10] = 255, 255};
        static const unsigned char mapped_loopback[16] = {[10] = 255, 255, 127, 0, 0, 1};
        int is_mapped = !memcmp(host, mapped_any, sizeof mapped_any);
        if (!IN6_IS_ADDR_UNSPECIFIED(host) && !is_mapped) return 0;
        if (option(socket, IPPROTO_IPV6, IPV6_V6ONLY)) *host = in6addr_loopback;
        else memcpy(host, mapped_loopback, sizeof mapped_loopback);
        return 1;
    }
    return 0;
}

static int bind_next(int socket, const struct sockaddr *address, socklen_t size) {
    bind_function *next = (bind_function *)dlsym(RTLD_NEXT, "bind");
    return next(socket, address, size);
}

VISIBLE int bind(int socket, const struct sockaddr *address, socklen_t size) {
    int before = errno;
    struct sockaddr_storage other;
    if (address && size <= sizeof other && size >= sizeof address->sa_family &&
        (address->sa_family == AF_INET || address->sa_family == AF_INET6) &&
        option(socket, SOL_SOCKET, SO_TYPE) == SOCK_STREAM && !is_client(socket)) {
        memcpy(&other, address, size);
        if (narrow(socket, &other, size)) {
            errno = before;
            return bind_next(socket, (struct sockaddr *)&other, size);
        }
    }
    errno = before;
    return bind_next(socket, address, size);
}

/* A socket that listens without an address gets all of them and any port from the kernel. */
VISIBLE int listen(int socket, int backlog) {
    int before = errno;
    struct sockaddr_storage address;
    socklen_t size = sizeof address;
    listen_function *next = (listen_function *)dlsym(RTLD_NEXT, "listen");
    if (!getsockname(socket, (struct sockaddr *)&address, &size) &&
        (address.ss_family == AF_INET || address.ss_family == AF_INET6) &&
        !((struct sockaddr_in *)&address)->sin_port)  /* the port has the same place in both */
        bind(socket, (struct sockaddr *)&address, size);  /* if this fails, so does it in the kernel */
    errno = before;
    return next(socket, backlog);
}
