//! Local model servers that could be asked.

use crate::doctor::finding::Finding;
use crate::doctor::instruments::Doctor;

pub(crate) async fn examine(doctor: &Doctor) -> Vec<Finding> {
    let servers = doctor.configured.lists.local_servers().await;
    if servers.is_empty() {
        return vec![Finding::ok("none found running")];
    }
    servers.iter().map(|server| Finding::ok(server.offer())).collect()
}
