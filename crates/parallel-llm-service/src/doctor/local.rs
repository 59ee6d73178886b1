//! Model servers on this machine that could be asked.

use super::{Finding, Service};

pub(super) async fn look(service: &Service) -> Vec<Finding> {
    let servers = service.look_for_local_servers().await;
    if servers.is_empty() {
        return vec![Finding::ok("none found running")];
    }
    servers.iter().map(|server| Finding::ok(server.offer())).collect()
}
